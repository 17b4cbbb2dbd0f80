/**
 * Encodes and decodes frames that contain only one batch. The bytes are those of the generated code. Every entry goes to every child in such a frame, so
 * the code is made for speed: the encoder first computes the lengths, then makes one allocation. The generated code needs a writer, a list of pieces and
 * three copies. field-reader.ts describes the decoder.
 */
import { Buffer } from 'node:buffer';
import { Batch, Entry, type Feed } from '../generated/mesh.ts';
import { FieldReader } from './field-reader.ts';
import {
  bytesLength,
  isPlain,
  numberLength,
  putBytes,
  putNumber,
  putText,
  putVarint,
  varintLength,
} from './field-writer.ts';

/** Numbers of the fields in proto/mesh.proto with their wire types: `field << 3 | type`. A tag takes one byte if the field number is below 16. */
const tags = {
  frame: { batch: 0x22 },
  batch: { feed: 0x08, entries: 0x12, from: 0x18, to: 0x20, head: 0x28, epoch: 0x32, incarnation: 0x3a, ahead: 0x40 },
  entry: {
    keyHash: 0x0a,
    revision: 0x10,
    origin: 0x18,
    tombstone: 0x20,
    key: 0x2a,
    attributes: 0x32,
    body: 0x3a,
    pieces: 0x42,
  },
} as const;

/** The bytes of a Frame with this batch. Undefined if the batch contains a number that no batch should have: the caller then uses the generated code. */
export function batchFrameBytes(batch: Batch): Buffer | undefined {
  if (!hasPlainNumbers(batch)) return undefined;
  const entryLengths = batch.entries.map(entryLength);
  const length = batchLength(batch, entryLengths);
  const bytes = Buffer.allocUnsafe(1 + varintLength(length) + length);
  const { batch: t } = tags;
  bytes[0] = tags.frame.batch;
  let at = putVarint(bytes, 1, length);
  at = putNumber(bytes, at, t.feed, batch.feed);
  for (const [i, entry] of batch.entries.entries()) {
    bytes[at] = t.entries;
    at = putEntry(bytes, putVarint(bytes, at + 1, entryLengths[i]!), entry);
  }
  at = putNumber(bytes, at, t.from, batch.from);
  at = putNumber(bytes, at, t.to, batch.to);
  at = putNumber(bytes, at, t.head, batch.head);
  at = putBytes(bytes, at, t.epoch, batch.epoch);
  at = putBytes(bytes, at, t.incarnation, batch.incarnation);
  if (batch.ahead) {
    bytes[at] = t.ahead;
    bytes[at + 1] = 1;
  }
  return bytes;
}

function hasPlainNumbers({ feed, from, to, head, entries }: Batch): boolean {
  if (!isPlain(feed) || !isPlain(from) || !isPlain(to) || !isPlain(head)) return false;
  return entries.every(({ revision, originRevision }) => isPlain(revision) && isPlain(originRevision));
}

function batchLength({ feed, from, to, head, epoch, incarnation, ahead }: Batch, entries: readonly number[]): number {
  let length = numberLength(feed) + numberLength(from) + numberLength(to) + numberLength(head);
  length += bytesLength(epoch.length) + bytesLength(incarnation.length) + (ahead ? 2 : 0);
  for (const entry of entries) length += 1 + varintLength(entry) + entry;
  return length;
}

function entryLength(entry: Entry): number {
  const { keyHash, revision, originRevision, tombstone, key, attributes, body, pieces } = entry;
  return (
    bytesLength(keyHash.length) +
    numberLength(revision) +
    numberLength(originRevision) +
    (tombstone ? 2 : 0) +
    bytesLength(Buffer.byteLength(key)) +
    bytesLength(attributes.length) +
    bytesLength(body.length) +
    bytesLength(pieces.length)
  );
}

function putEntry(bytes: Buffer, start: number, entry: Entry): number {
  const { entry: t } = tags;
  let at = putBytes(bytes, start, t.keyHash, entry.keyHash);
  at = putNumber(bytes, at, t.revision, entry.revision);
  at = putNumber(bytes, at, t.origin, entry.originRevision);
  if (entry.tombstone) {
    bytes[at] = t.tombstone;
    bytes[at + 1] = 1;
    at += 2;
  }
  at = putText(bytes, at, t.key, entry.key);
  at = putBytes(bytes, at, t.attributes, entry.attributes);
  at = putBytes(bytes, at, t.body, entry.body);
  return putBytes(bytes, at, t.pieces, entry.pieces);
}

const nothing = Buffer.alloc(0);
const empty = { batch: Batch.decode(nothing), entry: Entry.decode(nothing) };

/** The batch of a frame that contains nothing else. Undefined if the frame contains something that only the generated code can read or refuse. */
export function batchOfFrame(bytes: Buffer): Batch | undefined {
  if (bytes[0] !== tags.frame.batch) return undefined;
  const fields = new FieldReader(bytes, 1);
  const batch: Batch = { ...empty.batch, entries: [] };
  fields.enter();
  while (fields.hasMore) readBatchField(fields, batch);
  return fields.isWhole ? batch : undefined;
}

function readBatchField(fields: FieldReader, batch: Batch): void {
  const { batch: t } = tags;
  switch (fields.varint()) {
    case t.feed:
      batch.feed = fields.int32() as Feed;
      break;
    case t.entries:
      batch.entries.push(readEntry(fields));
      break;
    case t.from:
      batch.from = fields.varint();
      break;
    case t.to:
      batch.to = fields.varint();
      break;
    case t.head:
      batch.head = fields.varint();
      break;
    case t.epoch:
      batch.epoch = fields.bytes();
      break;
    case t.incarnation:
      batch.incarnation = fields.bytes();
      break;
    case t.ahead:
      batch.ahead = fields.flag();
      break;
    default:
      fields.odd(undefined);
  }
}

function readEntry(fields: FieldReader): Entry {
  const entry = { ...empty.entry };
  const outerEnd = fields.enter();
  while (fields.hasMore) readEntryField(fields, entry);
  fields.leave(outerEnd);
  return entry;
}

function readEntryField(fields: FieldReader, entry: Entry): void {
  const { entry: t } = tags;
  switch (fields.varint()) {
    case t.keyHash:
      entry.keyHash = fields.bytes();
      break;
    case t.revision:
      entry.revision = fields.varint();
      break;
    case t.origin:
      entry.originRevision = fields.varint();
      break;
    case t.tombstone:
      entry.tombstone = fields.flag();
      break;
    case t.key:
      entry.key = fields.text();
      break;
    case t.attributes:
      entry.attributes = fields.bytes();
      break;
    case t.body:
      entry.body = fields.bytes();
      break;
    case t.pieces:
      entry.pieces = fields.bytes();
      break;
    default:
      fields.odd(undefined);
  }
}
