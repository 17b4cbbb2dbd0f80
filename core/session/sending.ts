/** Makes the message that the machine of outgoing.ts asks for. It reads the producer's rows in one snapshot. */

import { mayOvertake } from '../entries/overtaking.ts';
import { contentHash, encodeContent } from '../feed/content.ts';
import { type Batch, bytesOfEntries, entryBytes, type WireEntry } from '../feed/feed.ts';
import type { FeedProducer } from '../feed/producer.ts';
import { answer } from '../feed/reconcile.ts';
import { equalBytes, hex } from '../store/bytes.ts';
import type { Reader } from '../store/store.ts';
import { batchEntries } from '../wire/codec/part-limits.ts';
import type { Frame } from '../wire/generated/mesh.ts';
import type { Done, Owed, Send } from './outgoing.ts';
import { batchFrame, type Direction, pieceFrame, replyFrame } from './wire-frames.ts';

export interface Sender {
  readonly producer: FeedProducer;
  readonly produces: Direction;
}

export interface Made {
  readonly done: Done;
  readonly frame?: Frame;
  /** Number of entries in the frame. */
  readonly entries: number;
  /** The head of the rows in the frame. It must be durable before the frame is sent. */
  readonly head?: number;
}

export function make(reader: Reader, sender: Sender, send: Send): Made {
  switch (send.type) {
    case 'sendBatch':
      return makeBatch(reader, sender, send);
    case 'sendAhead':
      return makeAhead(reader, sender, send);
    case 'sendPiece':
      return makePiece(reader, sender, send);
    case 'sendOwed':
      return makeOwed(reader, sender, send);
    case 'sendAnswer':
      return makeAnswer(reader, sender, send);
  }
}

type Of<T extends Send['type']> = Send & { readonly type: T };

function makeBatch(reader: Reader, sender: Sender, { after, head, maxBytes }: Of<'sendBatch'>): Made {
  const { producer, produces } = sender;
  const batch = producer.batch(reader, after, head, { maxBytes, maxEntries: batchEntries });
  if (!batch) throw new Error(`a batch behind ${after} of a feed with head ${head}`);
  const owed = owedOf(batch.entries, maxBytes);
  if (owed) return none({ type: 'large', owed });
  const done: Done = {
    type: 'sent',
    to: batch.to,
    bytes: bytesOfEntries(batch.entries),
    all: isAll(batch),
    named: false,
  };
  return { done, frame: batchFrame(produces, batch), entries: batch.entries.length };
}

/** Makes a batch that overtakes. It ends before the first entry that is not allowed to overtake. */
function makeAhead(reader: Reader, sender: Sender, { owed, after, head, maxBytes }: Of<'sendAhead'>): Made {
  const { producer, produces } = sender;
  const row = producer.get(reader, owed.keyHash);
  const batch = row?.content && producer.batch(reader, after, head, { maxBytes, maxEntries: batchEntries });
  if (!row?.content || !batch) return none({ type: 'blocked' });
  const { key } = producer.content(reader, row.content);
  const stop = batch.entries.findIndex(({ content }) => !content || !mayOvertake(content.key, key));
  const entries = stop < 0 ? batch.entries : batch.entries.slice(0, stop);
  if (stop === 0) return none({ type: 'blocked' });
  const next = owedOf(entries, maxBytes);
  if (next) return none({ type: 'large', owed: next });
  const to = stop < 0 ? batch.to : entries.at(-1)!.revision;
  const ahead: Batch = { ...batch, entries, to, ahead: true };
  const done: Done = { type: 'sentAhead', to, bytes: bytesOfEntries(entries) };
  return { done, frame: batchFrame(produces, ahead), entries: entries.length };
}

function makePiece(reader: Reader, { producer, produces }: Sender, { owed, maxBytes }: Of<'sendPiece'>): Made {
  const row = producer.get(reader, owed.keyHash);
  if (!row?.content || !equalBytes(row.content.hash, owed.contentHash)) return none({ type: 'outdated' });
  const record = encodeContent(producer.content(reader, row.content));
  const { contentHash, offset, total } = owed;
  const data = record.subarray(offset, offset + maxBytes);
  const done: Done = { type: 'sentPiece', offset: offset + data.length, bytes: data.length };
  return { done, frame: pieceFrame(produces, { contentHash, offset, total, data }), entries: 0 };
}

/** Makes the batch of an owed entry. Entries that went ahead are not sent again. If the owed entry has changed, it is sent later with its new revision. */
function makeOwed(reader: Reader, { producer, produces }: Sender, { owed, from, to }: Of<'sendOwed'>): Made {
  const row = producer.get(reader, owed.keyHash);
  const { keyHash, revision, contentHash } = owed;
  const entries: WireEntry[] =
    row?.revision === revision ? [{ keyHash, revision, originRevision: row.originRevision, pieces: contentHash }] : [];
  const { epoch, incarnation } = producer;
  const batch: Batch = { entries, from, to, head: producer.head(reader), epoch, incarnation };
  const done: Done = { type: 'sent', to, bytes: bytesOfEntries(entries), all: isAll(batch), named: entries.length > 0 };
  return { done, frame: batchFrame(produces, batch), entries: entries.length };
}

/**
 * Makes the answer to a request. The answer contains the head of the rows that it was made from. The consumer continues from this head, so the head has to be
 * durable before the answer is sent.
 */
function makeAnswer(reader: Reader, sender: Sender, { request, maxBytes, pieced }: Of<'sendAnswer'>): Made {
  const { producer, produces } = sender;
  const head = producer.head(reader);
  const reply = answer(reader, producer, request, head, {
    maxBytes,
    ...(pieced ? { pieced: hex(pieced.contentHash) } : {}),
  });
  const owed = owedOf(reply.entries, maxBytes);
  if (owed) return none({ type: 'answerOwed', owed });
  const named = reply.entries.some((entry) => entry.pieces !== undefined);
  const done: Done = { type: 'answered', bytes: bytesOfEntries(reply.entries), named };
  return { done, frame: replyFrame(produces, reply), entries: reply.entries.length, head };
}

/** Returns the first entry if it is larger than a message: its content then has to be sent in pieces. A batch has no other entry in this case. */
function owedOf(entries: readonly WireEntry[], maxBytes: number): Owed | undefined {
  const [first] = entries;
  if (!first?.content || entryBytes(first) <= maxBytes) return undefined;
  const { keyHash, revision, content } = first;
  return { keyHash, revision, contentHash: contentHash(content), offset: 0, total: encodeContent(content).length };
}

function isAll({ to, head }: Batch): boolean {
  return to >= head;
}

function none(done: Done): Made {
  return { done, entries: 0 };
}
