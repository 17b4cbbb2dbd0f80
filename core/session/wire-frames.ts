/** Converts between the types of feeds and the frames of the wire. */

import { Buffer } from 'node:buffer';
import { neverAttached } from '../feed/consumer-state.ts';
import {
  type Batch,
  type Content,
  keyBytesMax,
  type ReconcileReply,
  type ReconcileRequest,
  type ResumeTuple,
  type WireEntry,
} from '../feed/feed.ts';
import { type HeldPieces, heldMax, type Piece } from '../feed/pieces.ts';
import { wantedPerRequest } from '../feed/reconcile.ts';
import { prefixesPerRequest } from '../feed/reconcile-prefixes.ts';
import { hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { equalBytes, hex } from '../store/bytes.ts';
import { batchEntries } from '../wire/codec/part-limits.ts';
import type * as wire from '../wire/generated/mesh.ts';
import { type Entry, Feed, type Frame, type ResumeTuple as WireTuple } from '../wire/generated/mesh.ts';
import { prefixAnswerFromWire, prefixAnswerToWire, prefixesFromWire, prefixToWire } from './prefix-frames.ts';

export type Direction = 'down' | 'up';

/** Limit for revisions: rows store a revision in six bytes. */
export const revisionMax = 2 ** 48 - 1;
/** Length of epochs, incarnations and boot nonces. */
export const nonceBytes = 16;

const feedOf = { down: Feed.FEED_DOWN, up: Feed.FEED_UP } as const;

export function batchFrame(direction: Direction, batch: Batch): Frame {
  const { from, to, head } = batch;
  const value = {
    feed: feedOf[direction],
    entries: batch.entries.map(entryToWire),
    from,
    to,
    head,
    ahead: batch.ahead ?? false,
    ...producerToWire(batch),
  };
  return { frame: { $case: 'batch', value } };
}

export function pieceFrame(direction: Direction, piece: Piece): Frame {
  const { contentHash, offset, total, data } = piece;
  const value = { feed: feedOf[direction], contentHash: buffer(contentHash), offset, total, data: buffer(data) };
  return { frame: { $case: 'piece', value } };
}

/** Returns credit for the bytes of a piece or of a batch ahead. */
export function creditFrame(direction: Direction, bytes: number): Frame {
  return { frame: { $case: 'credit', value: { stream: 0, feed: feedOf[direction], bytes } } };
}

export function heldToWire(held: readonly HeldPieces[]): wire.HeldPieces[] {
  return held.map(({ contentHash, bytes }) => ({ contentHash: buffer(contentHash), bytes }));
}

/** The number of bytes of each incomplete content, keyed by hash (hex). Contents beyond `heldMax` are ignored: a consumer does not keep more. */
export function heldFromWire(held: readonly wire.HeldPieces[]): ReadonlyMap<string, number> {
  return new Map(held.slice(0, heldMax).map(({ contentHash, bytes }) => [hex(contentHash), bytes]));
}

export function ackFrame(direction: Direction, cursor: number, epoch: string): Frame {
  return { frame: { $case: 'ack', value: { feed: feedOf[direction], cursor, epoch: bytesOf(epoch) } } };
}

export function requestFrame(direction: Direction, request: ReconcileRequest): Frame {
  const value = {
    feed: feedOf[direction],
    round: request.round,
    seed: buffer(request.seed),
    prefixes: request.prefixes.map(prefixToWire),
    wanted: request.wanted.map((keyHash) => Buffer.from(keyHash)),
  };
  return { frame: { $case: 'reconcileRequest', value } };
}

export function replyFrame(direction: Direction, reply: ReconcileReply): Frame {
  const value = {
    feed: feedOf[direction],
    round: reply.round,
    answers: reply.answers.map(prefixAnswerToWire),
    entries: reply.entries.map(entryToWire),
    head: reply.head,
    ...producerToWire(reply),
  };
  return { frame: { $case: 'reconcileReply', value } };
}

export function tupleToWire(tuple: ResumeTuple): WireTuple {
  const { cursor, seenHead } = tuple;
  return { ...producerToWire(tuple), cursor, seenHead };
}

export function tupleFromWire(tuple: WireTuple | undefined): ResumeTuple {
  if (!tuple) return neverAttached;
  const { cursor, seenHead } = tuple;
  return { epoch: hex(tuple.epoch), incarnation: hex(tuple.incarnation), cursor, seenHead };
}

export function batchFromWire(value: wire.Batch): Batch {
  const { from, to, head } = value;
  checkCount('a batch', value.entries, batchEntries, 'entries');
  checkRevision('end of a batch', to);
  checkRevision('head of a batch', head);
  return {
    entries: value.entries.map(entryFromWire),
    from,
    to,
    head,
    ...producerFromWire(value),
    ...(value.ahead ? { ahead: true } : {}),
  };
}

export function reconcileRequestFromWire(value: wire.ReconcileRequest): ReconcileRequest {
  const { round, wanted } = value;
  checkCount('a reconcile request', wanted, wantedPerRequest, 'keys');
  for (const keyHash of wanted) checkLength('a key hash', keyHash, hashBytes);
  return { round, wanted, ...prefixesFromWire(value) };
}

export function replyFromWire(value: wire.ReconcileReply): ReconcileReply {
  checkCount('a reconcile reply', value.answers, prefixesPerRequest, 'answers');
  checkCount('a reconcile reply', value.entries, wantedPerRequest, 'entries');
  checkRevision('head of a reconcile reply', value.head);
  const isBrief = value.round > 1 && value.epoch.length === 0 && value.incarnation.length === 0;
  return {
    round: value.round,
    answers: value.answers.map(prefixAnswerFromWire),
    entries: value.entries.map(entryFromWire),
    head: value.head,
    ...(isBrief ? { epoch: '', incarnation: '' } : producerFromWire(value)),
  };
}

/** The direction that a frame's feed names. */
export function directionOf(feed: Feed): Direction {
  if (feed === Feed.FEED_DOWN) return 'down';
  if (feed === Feed.FEED_UP) return 'up';
  throw new BanyanError('Protocol', `a frame for the unknown feed ${feed}`);
}

function entryToWire(entry: WireEntry): Entry {
  const { keyHash, revision, originRevision, content } = entry;
  return {
    keyHash: buffer(keyHash),
    revision,
    originRevision,
    tombstone: content === undefined && entry.pieces === undefined,
    key: content?.key ?? '',
    attributes: buffer(content?.attributes),
    body: buffer(content?.body),
    pieces: buffer(entry.pieces),
  };
}

function entryFromWire(entry: Entry): WireEntry {
  const { keyHash, revision, originRevision, tombstone, key, attributes, body } = entry;
  checkLength('a key hash', keyHash, hashBytes);
  checkRevision('revision', revision);
  checkRevision('origin revision', originRevision);
  if (tombstone) return { keyHash, revision, originRevision };
  if (entry.pieces.length > 0) checkLength('a content hash', entry.pieces, hashBytes);
  if (entry.pieces.length > 0) return { keyHash, revision, originRevision, pieces: entry.pieces };
  const keyBytes = Buffer.byteLength(key);
  if (keyBytes > keyBytesMax)
    throw new BanyanError('Protocol', `an entry with a key of ${keyBytes} bytes; at most ${keyBytesMax}`);
  const content: Content = { key, attributes, body };
  return { keyHash, revision, originRevision, content };
}

function checkLength(what: string, value: Uint8Array, length: number): void {
  if (value.length === length) return;
  throw new BanyanError('Protocol', `${what} of ${value.length} bytes, expected ${length}`);
}

function checkCount(what: string, list: readonly unknown[], most: number, of: string): void {
  if (list.length > most) throw new BanyanError('Protocol', `${what} of ${list.length} ${of}; at most ${most}`);
}

function checkRevision(what: string, value: number): void {
  if (value <= revisionMax) return;
  throw new BanyanError('Protocol', `the ${what} ${value}, beyond ${revisionMax}`);
}

/** The epoch and incarnation of the producer in a message of a feed. */
function producerFromWire({ epoch, incarnation }: Pick<wire.Batch, 'epoch' | 'incarnation'>) {
  checkLength('an epoch', epoch, nonceBytes);
  checkLength('an incarnation', incarnation, nonceBytes);
  return { epoch: hex(epoch), incarnation: hex(incarnation) };
}

function producerToWire({ epoch, incarnation }: { epoch: string; incarnation: string }) {
  return { epoch: bytesOf(epoch), incarnation: bytesOf(incarnation) };
}

/**
 * Limit for the cache of converted epochs and incarnations, which are the same in each frame of a feed. The limit is several times the number of a relay's
 * children, about 4 MB. A full cache is cleared.
 */
const noncesMax = 16_384;
const nonces = new Map<string, Buffer>();

function bytesOf(hexText: string): Buffer {
  const cached = nonces.get(hexText);
  if (cached) return cached;
  if (nonces.size >= noncesMax) nonces.clear();
  // Allocated outside of Buffer's pool: otherwise each cached nonce of a few bytes would keep 64 KB of the pool in memory.
  const bytes = Buffer.allocUnsafeSlow(hexText.length >> 1);
  bytes.write(hexText, 'hex');
  nonces.set(hexText, bytes);
  return bytes;
}

/** Whether the bytes are the nonce with this hex text. */
export function isNonce(bytes: Uint8Array, hexText: string): boolean {
  return equalBytes(bytes, bytesOf(hexText));
}

const none = Buffer.alloc(0);

function buffer(value: Uint8Array | undefined): Buffer {
  if (!value) return none;
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
