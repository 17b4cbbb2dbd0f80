/**
 * Range reconciliation: when a resume is refused, both ends find what differs by fingerprints of ranges of key hashes, so that the bytes are
 * proportional to the difference. The consumer drives and keeps the state; the producer answers each request from its rows alone.
 *
 * The idea is that of range-based set reconciliation (Meyer, https://arxiv.org/abs/2212.13567).
 */
import { hash128, hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { concat, equalBytes } from '../store/bytes.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { FeedConsumer } from './consumer.ts';
import { contentHash } from './content.ts';
import {
  type AppliedChange,
  entryBytes,
  type RangeAnswer,
  type RangeSummary,
  type ReconcileReply,
  type ReconcileRequest,
  type Row,
  type WireEntry,
} from './feed.ts';
import { withPieces } from './pieces.ts';
import type { FeedProducer } from './producer.ts';
import { decodeRow, rowKey, type TableRows, tableRange } from './table.ts';

/** Parts into which a range is cut: 16 take a million rows to lists in four rounds. */
export const parts = 16;
/** Rows that are listed rather than cut further: some 3 KB. */
export const listMax = 64;
/** Ranges and keys in one request: its reply stays far below the frame limit. */
export const rangesPerRequest = 256;
export const wantedPerRequest = 256;
/** Ranges that are left to ask: 16 of each of a request's, over all depths. A producer that says that everything differs, without end, is not believed. */
const rangesMax = 65_536;
const lowest = Buffer.alloc(hashBytes);
/** One above the greatest key hash: 17 bytes, so that every hash is below it. */
const highest = Buffer.concat([Buffer.alloc(hashBytes, 0xff), Buffer.of(0)]);
const modulus = 1n << 128n;

export function summarize(reader: Reader, table: TableRows, from: Uint8Array, to: Uint8Array): RangeSummary {
  let count = 0;
  let sum = 0n;
  for (const row of rowsBetween(reader, table, from, to)) {
    count++;
    sum = (sum + number(hash128(concat(row.keyHash, row.content!.hash)))) % modulus;
  }
  return { from, to, count, fingerprint: Buffer.from(sum.toString(16).padStart(2 * hashBytes, '0'), 'hex') };
}

export interface AnswerLimits {
  /** Of entries in one reply; one that is larger travels alone. */
  readonly maxBytes: number;
  /** Hash, hex, of a content that the consumer has in pieces: it is named and not sent. */
  readonly pieced?: string;
}

/** The producer's side, without state. `durableHead` was read before: what changes later comes as ordinary batches. */
export function answer(
  reader: Reader,
  producer: FeedProducer,
  request: ReconcileRequest,
  durableHead: number,
  { maxBytes, pieced }: AnswerLimits,
): ReconcileReply {
  const entries: WireEntry[] = [];
  let bytes = 0;
  for (const keyHash of request.wanted) {
    const entry = asPieced(
      producer.entry(reader, keyHash) ?? { keyHash, revision: durableHead, originRevision: 0 },
      pieced,
    );
    bytes += entryBytes(entry);
    if (entries.length > 0 && bytes > maxBytes) break;
    entries.push(entry);
  }
  return {
    round: request.round,
    answers: request.ranges.map((range) => answerRange(reader, producer, range)),
    entries,
    head: durableHead,
    epoch: producer.epoch,
    incarnation: producer.incarnation,
  };
}

function asPieced(entry: WireEntry, pieced: string | undefined): WireEntry {
  const { content, ...rest } = entry;
  if (pieced === undefined || !content) return entry;
  const hash = contentHash(content);
  return hex(hash) === pieced ? { ...rest, pieces: hash } : entry;
}

function answerRange(reader: Reader, producer: FeedProducer, asked: RangeSummary): RangeAnswer {
  const own = summarize(reader, producer, asked.from, asked.to);
  if (isSame(own, asked)) return { kind: 'same', range: asked };
  if (own.count > listMax) {
    return {
      kind: 'split',
      parts: cut(asked.from, asked.to).map(([from, to]) => summarize(reader, producer, from, to)),
    };
  }
  const items = Array.from(rowsBetween(reader, producer, asked.from, asked.to), (row) => ({
    keyHash: row.keyHash,
    contentHash: row.content!.hash,
    originRevision: row.originRevision,
  }));
  return { kind: 'list', from: asked.from, to: asked.to, items };
}

/** One reconciliation, the consumer's side. */
export class Reconciliation {
  readonly #consumer: FeedConsumer;
  #round = 0;
  #ranges: RangeSummary[];
  #wanted: Uint8Array[] = [];
  /** Keys that the producer has proven not to have. They go at the end, all at once. */
  readonly #gone: Uint8Array[] = [];
  #first: ReconcileReply | undefined;
  /** Rows that came are as new as the newest of these heads, though the feed is taken up at the first. */
  #seenHead = 0;

  constructor(reader: Reader, consumer: FeedConsumer) {
    this.#consumer = consumer;
    this.#ranges = [summarize(reader, consumer, lowest, highest)];
  }

  /** The next request; undefined when nothing is left to ask. */
  next(): ReconcileRequest | undefined {
    if (this.#ranges.length === 0 && this.#wanted.length === 0) return undefined;
    this.#round++;
    return {
      round: this.#round,
      ranges: this.#ranges.slice(0, rangesPerRequest),
      wanted: this.#wanted.slice(0, wantedPerRequest),
    };
  }

  /** Takes a reply in: applies the entries that came, works out what to ask next. Throws Protocol for one that is no answer to what was asked last. */
  absorb(t: Transaction, reply: ReconcileReply): AppliedChange[] {
    const asked = this.#ranges.slice(0, rangesPerRequest);
    checkReply(reply, { round: this.#round, ranges: asked, wanted: this.#wanted.slice(0, wantedPerRequest) });
    this.#first ??= reply;
    this.#seenHead = Math.max(this.#seenHead, reply.head);
    this.#ranges = this.#ranges.slice(asked.length);
    const again = reply.answers.map((one) => this.#take(t, one)).includes(true);
    if (this.#ranges.length > rangesMax) {
      throw new BanyanError(
        'Protocol',
        `a reconciliation with ${this.#ranges.length} ranges left; at most ${rangesMax}`,
      );
    }
    const came = new Set(reply.entries.map((entry) => hex(entry.keyHash)));
    this.#wanted = this.#wanted.filter((keyHash) => !came.has(hex(keyHash)));
    if (came.size > 0 || again) this.#leaveFeed(t, reply);
    // What was wanted and is gone by now comes as a tombstone of an ordinary batch; here it is passed over.
    const entries = withPieces(t, this.#consumer.id, reply.entries);
    return this.#consumer.applyEntries(
      t,
      entries.filter((entry) => entry.content !== undefined),
    );
  }

  /** When nothing is left to ask: removes or holds what the producer has not, and takes up the feed at the first reply's head. */
  finish(t: Transaction): AppliedChange[] {
    if (!this.#first) throw new Error('a reconciliation without a reply');
    const { epoch, incarnation, head } = this.#first;
    const gone = new Set(this.#gone.map(hex));
    const absent = this.#gone.filter(
      (keyHash) => !this.#consumer.keepKey(t, keyHash, (keeper) => gone.has(hex(keeper))),
    );
    const changes = this.#consumer.removeAbsent(t, absent);
    this.#consumer.setResume(t, { epoch, incarnation, cursor: head, seenHead: this.#seenHead });
    return changes;
  }

  /**
   * Rows of two histories are no state of either: until the end, the consumer may resume nowhere (rule 2), also not at the producer that its
   * cursor was of, if that one is put back in the middle.
   */
  #leaveFeed(t: Transaction, { epoch }: ReconcileReply): void {
    this.#consumer.setResume(t, { epoch, incarnation: '', cursor: 0, seenHead: 0 });
  }

  /** True if something is held no longer. */
  #take(t: Transaction, one: RangeAnswer): boolean {
    if (one.kind === 'split') {
      for (const part of one.parts) {
        const own = summarize(t, this.#consumer, part.from, part.to);
        if (!isSame(own, part)) this.#ranges.push(own);
      }
    } else if (one.kind === 'list') return this.#takeList(t, one);
    return false;
  }

  #takeList(t: Transaction, { from, to, items }: RangeAnswer & { kind: 'list' }): boolean {
    const theirs = new Map(items.map((item) => [hex(item.keyHash), item]));
    for (const row of rowsBetween(t, this.#consumer, from, to)) {
      const item = theirs.get(hex(row.keyHash));
      if (!item) this.#gone.push(row.keyHash);
      else if (this.#consumer.needsNot(row, item)) theirs.delete(hex(row.keyHash));
    }
    // What is held is no row of a range, and is here all the same: of a table that two parents took turns to produce it may be all there is.
    const again = [...theirs.values()].filter((item) => this.#consumer.letGoOf(t, item));
    for (const { keyHash } of again) theirs.delete(hex(keyHash));
    this.#wanted.push(...[...theirs.values()].map(({ keyHash }) => keyHash));
    return again.length > 0;
  }
}

/**
 * Every reply brings the reconciliation on: a range is settled, listed, or cut as both sides cut, so that there are 32 rounds of ranges at most, and of
 * what is wanted something comes. Without this a producer that lies could be asked for ever.
 */
function checkReply({ round, answers, entries }: ReconcileReply, asked: ReconcileRequest): void {
  const bad = (what: string) => new BanyanError('Protocol', `a reconcile reply ${what}`);
  if (round !== asked.round) throw bad(`to round ${round}, asked was ${asked.round}`);
  if (answers.length !== asked.ranges.length)
    throw bad(`with ${answers.length} answers to ${asked.ranges.length} ranges`);
  for (const [i, one] of answers.entries()) {
    if (!answersRange(one, asked.ranges[i]!)) throw bad(`whose answer ${i} is not about the range that was asked for`);
  }
  const wanted = new Set(asked.wanted.map(hex));
  if (wanted.size > 0 && entries.length === 0) throw bad(`with none of ${wanted.size} entries that were wanted`);
  for (const { keyHash } of entries) {
    if (!wanted.delete(hex(keyHash))) throw bad(`with an entry that was not wanted, ${hex(keyHash)}`);
  }
}

function answersRange(one: RangeAnswer, { from, to }: RangeSummary): boolean {
  const isSameRange = (range: { readonly from: Uint8Array; readonly to: Uint8Array }) =>
    equalBytes(range.from, from) && equalBytes(range.to, to);
  switch (one.kind) {
    case 'same':
      return isSameRange(one.range);
    case 'list':
      return isSameRange(one) && one.items.every(({ keyHash }) => isWithin(keyHash, from, to));
    case 'split': {
      const cuts = cut(from, to);
      const isCut = ([start, end]: [Uint8Array, Uint8Array], i: number) => {
        const part = one.parts[i];
        return part !== undefined && equalBytes(part.from, start) && equalBytes(part.to, end);
      };
      return cuts.length > 1 && one.parts.length === cuts.length && cuts.every(isCut);
    }
  }
}

function isWithin(keyHash: Uint8Array, from: Uint8Array, to: Uint8Array): boolean {
  return Buffer.compare(from, keyHash) <= 0 && Buffer.compare(keyHash, to) < 0;
}

/** Throws Protocol for ranges that overlap: each is a scan, and all of them together are to be one of the table at most. */
export function checkRanges(ranges: readonly Pick<RangeSummary, 'from' | 'to'>[]): void {
  const sorted = [...ranges].sort((a, b) => Buffer.compare(a.from, b.from));
  for (const [i, { from }] of sorted.entries()) {
    const before = sorted[i - 1];
    if (before && Buffer.compare(before.to, from) > 0)
      throw new BanyanError('Protocol', `a reconcile request whose ranges overlap at ${hex(from)}`);
  }
}

/** Without what is held: that is no part of what both ends should agree on. */
function* rowsBetween(reader: Reader, table: TableRows, from: Uint8Array, to: Uint8Array): Generator<Row> {
  const offset = tableRange(table.id).from.length;
  for (const [key, value] of reader.scan({ from: rowKey(table.id, from), to: rowKey(table.id, to) })) {
    const row = decodeRow(key.subarray(offset), value);
    if (row.content && !row.held) yield row;
  }
}

/** Cuts a range of key hashes into parts of equal width. */
function cut(from: Uint8Array, to: Uint8Array): [Uint8Array, Uint8Array][] {
  const low = number(from);
  const high = to.length > hashBytes ? modulus : number(to);
  const at = (i: number) => low + ((high - low) * BigInt(i)) / BigInt(parts);
  const bound = (i: number) =>
    i === 0
      ? from
      : i === parts
        ? to
        : Buffer.from(
            at(i)
              .toString(16)
              .padStart(2 * hashBytes, '0'),
            'hex',
          );
  const cuts = Array.from({ length: parts }, (_, i): [Uint8Array, Uint8Array] => [bound(i), bound(i + 1)]);
  return cuts.filter(([start, end]) => Buffer.compare(start, end) < 0);
}

function isSame(a: RangeSummary, b: RangeSummary): boolean {
  return a.count === b.count && equalBytes(a.fingerprint, b.fingerprint);
}

function number(bytes: Uint8Array): bigint {
  return BigInt(`0x${hex(bytes)}`);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
