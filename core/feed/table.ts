/**
 * Tables: rows keyed by key hash. A row is `u48 revision, u48 originRevision` and the 16-byte hash of its content. A row without a hash is a tombstone. A byte
 * after the hash marks the row as held (deletions.ts), quarantined (quarantine.ts), or both. Both ends of a feed have their rows in the order of key hashes,
 * so a reconciliation works on ranges of key hashes.
 */
import { Buffer } from 'node:buffer';
import { hash128, hashBytes } from '../object/hash.ts';
import { concat, cut, equalBytes, prefixRange, readU32, readU48, text, u32, u48Bytes } from '../store/bytes.ts';
import { type Keyspace, prefixOf } from '../store/keyspace.ts';
import { removePrefix } from '../store/remove-prefix.ts';
import type { Reader, Transaction } from '../store/store.ts';
import {
  type ContentRecord,
  contentRecordOf,
  dropContentReference,
  readContent,
  retainContent,
  storeContent,
} from './content.ts';
import type { Content, ContentReference, FeedRow, Table } from './feed.ts';
import { dropQuarantined } from './quarantine.ts';
import { dropUsage } from './row-quota.ts';

export class TableRows implements Table {
  readonly name: string;
  readonly id: number;

  protected constructor(name: string, id: number) {
    this.name = name;
    this.id = id;
  }

  get(reader: Reader, keyHash: Uint8Array): FeedRow | undefined {
    return rowAt(reader, rowKey(this.id, keyHash), keyHash);
  }

  content(reader: Reader, reference: ContentReference): Content {
    return readContent(reader, reference);
  }

  *rows(reader: Reader): Generator<FeedRow> {
    const { from, to } = tableRange(this.id);
    for (const [key, value] of reader.scan({ from, to })) {
      const row = decodeRow(key.subarray(from.length), value);
      if (row.content) yield row;
    }
  }

  /** The row's content, if the row has one. */
  protected contentOf(reader: Reader, row: FeedRow | undefined): Content | undefined {
    return row?.content && readContent(reader, row.content);
  }
}

/** A table without a feed: a source of the scheduler. The revision of a row is the row's origin revision. */
export class LocalTable extends TableRows {
  static open(t: Transaction, name: string): LocalTable {
    return new LocalTable(name, openTable(t, name));
  }

  /** Sets the content of a key. Returns false if the key has this content already. */
  put(t: Transaction, content: Content, originRevision: number): boolean {
    const keyHash = hash128(content.key);
    const before = this.get(t, keyHash);
    const record = contentRecordOf(content);
    if (before?.content && equalBytes(before.content.hash, record.hash)) return false;
    checkCollision(t, before, content.key);
    writeRow(t, this.id, { keyHash, revision: originRevision, originRevision, content: storeContent(t, record) });
    if (before?.content) dropContentReference(t, before.content);
    return true;
  }

  /** Gives the row the revision of a newer write of the same content. */
  restamp(t: Transaction, row: FeedRow, revision: number): void {
    writeRow(t, this.id, { ...row, revision, originRevision: revision });
  }

  /** Removes a key. Returns false if the table does not have the key. */
  remove(t: Transaction, keyHash: Uint8Array): boolean {
    const before = this.get(t, keyHash);
    if (!before?.content) return false;
    removeRow(t, this.id, keyHash);
    dropContentReference(t, before.content);
    return true;
  }
}

// ------------------------------------------------------------------------------------------------------- rows

const heldMark = 1;
const poisonedMark = 2;
const liveRowBytes = 2 * u48Bytes + hashBytes;

export function rowAt(reader: Reader, at: Uint8Array, keyHash: Uint8Array): FeedRow | undefined {
  const bytes = reader.get(at);
  return bytes && decodeRow(keyHash, bytes);
}

export function writeRow(t: Transaction, table: number, row: FeedRow): void {
  writeRowAt(t, rowKey(table, row.keyHash), row);
}

/** Writes with the same key object with which the caller read the row. This is cheaper in stores that remember the key. */
export function writeRowAt(t: Transaction, at: Uint8Array, row: FeedRow): void {
  const marks = row.content ? (row.held ? heldMark : 0) | (row.poisoned ? poisonedMark : 0) : 0;
  const bytes = Buffer.allocUnsafe(2 * u48Bytes + (row.content ? hashBytes : 0) + (marks ? 1 : 0));
  bytes.writeUIntBE(row.revision, 0, u48Bytes);
  bytes.writeUIntBE(row.originRevision, u48Bytes, u48Bytes);
  if (row.content) bytes.set(row.content.hash, 2 * u48Bytes);
  if (marks) bytes[liveRowBytes] = marks;
  t.put(at, bytes);
}

export function removeRow(t: Transaction, table: number, keyHash: Uint8Array): void {
  t.remove(rowKey(table, keyHash));
}

/** Throws if the row belongs to another key with the same hash. Otherwise two keys would silently share one row. */
export function checkCollision(reader: Reader, row: FeedRow | undefined, key: string): void {
  if (row?.content) checkSameKey(readContent(reader, row.content), key);
}

export function checkSameKey({ key: other }: Content, key: string): void {
  if (other !== key) throw new Error(`the keys "${other}" and "${key}" have one hash`);
}

/** Counts a row for a content, and stores the content if it is not stored yet. A mere reference must name a stored content. */
export function referTo(t: Transaction, content: ContentRecord | ContentReference): ContentReference {
  if ('record' in content) return storeContent(t, content);
  retainContent(t, content);
  return content;
}

export function rowKey(table: number, keyHash: Uint8Array): Uint8Array {
  return tableKey('tableRow', table, keyHash);
}

/** Every read and write of a row makes a key, so the function makes a single allocation. */
export function tableKey(space: Keyspace, table: number, rest: Uint8Array): Uint8Array {
  const key = Buffer.allocUnsafe(6 + rest.length);
  key.set(prefixOf(space), 0);
  key.writeUInt32BE(table, 2);
  key.set(rest, 6);
  return key;
}

export function tableRange(table: number): { from: Uint8Array; to: Uint8Array } {
  return prefixRange(concat(prefixOf('tableRow'), u32(table)));
}

export function decodeRow(keyHash: Uint8Array, bytes: Uint8Array): FeedRow {
  const row = { keyHash, revision: readU48(bytes), originRevision: readU48(bytes, u48Bytes) };
  if (bytes.length === 2 * u48Bytes) return row;
  const live = { ...row, content: { hash: cut(bytes, 2 * u48Bytes, liveRowBytes) } };
  const marks = bytes[liveRowBytes] ?? 0;
  if (marks === 0) return live;
  return { ...live, ...(marks & heldMark ? { held: true } : {}), ...(marks & poisonedMark ? { poisoned: true } : {}) };
}

// ----------------------------------------------------------------------------------------------------- tables

const nul = Buffer.of(0);

/** The number of the table with this name. A new name gets a new number; numbers are never used again. */
export function openTable(t: Transaction, name: string): number {
  const at = concat(prefixOf('tableName'), text(name));
  const stored = t.get(at);
  if (stored) return readU32(stored);
  const counter = concat(prefixOf('tableName'), nul);
  const last = t.get(counter);
  const id = (last ? readU32(last) : 0) + 1;
  t.put(counter, u32(id));
  t.put(at, u32(id));
  return id;
}

/** Removes everything of a table: rows, contents that only these rows named, indexes and states. Its number is not used again. */
export function dropTable(t: Transaction, name: string): void {
  const at = concat(prefixOf('tableName'), text(name));
  const stored = t.get(at);
  if (!stored) return;
  const id = readU32(stored);
  for (const [key, value] of [...t.scan(tableRange(id))]) {
    const { content } = decodeRow(key, value);
    if (content) dropContentReference(t, content);
    t.remove(key);
  }
  dropQuarantined(t, id);
  dropUsage(t, id);
  for (const space of ['tableRevision', 'producerState', 'consumerState', 'pieceRow', 'heldRow'] as const) {
    removePrefix(t, concat(prefixOf(space), u32(id)));
  }
  t.remove(at);
}
