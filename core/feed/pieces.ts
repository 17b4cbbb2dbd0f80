/**
 * Contents that are received in pieces, outside the order of the feed. The store keeps the pieces of a content until an entry names the whole content. Pieces
 * carry the hash of their content, so the pieces of one session are of use in the next session. So a large object arrives even over a line that breaks every
 * minute.
 */
import { hash128, hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import {
  concat,
  equalBytes,
  hex,
  prefixRange,
  readU32,
  readU48,
  u32,
  u32Bytes,
  u48,
  u48Bytes,
} from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { KeyRange, Reader, Transaction } from '../store/store.ts';
import { contentOfPeer } from './content.ts';
import type { WireEntry } from './feed.ts';

export interface Piece {
  readonly contentHash: Uint8Array;
  readonly offset: number;
  /** Length of the whole record. */
  readonly total: number;
  readonly data: Uint8Array;
}

export interface HeldPieces {
  readonly contentHash: Uint8Array;
  readonly bytes: number;
}

/** Limit for a content. It is the size of the largest record that fits into one frame: objects in pieces may not be larger than other objects. */
export const piecedBytesMax = 4 * 1024 * 1024;
/** The least size of a piece, except for the last piece of a content: half of the smallest message. So one content has at most about 1,000 rows. */
export const pieceBytesMin = 4 * 1024;
/** Number of incomplete contents that a consumer keeps: enough for those that a producer sends at the same time, and for those of an earlier session. */
export const heldMax = 32;
/**
 * Limit for a row of received bytes. It is the size of the largest message, so each piece from a Banyan node is one row. Larger pieces from another peer are
 * cut into several rows. The consumer often reads the last row of a content to see how much of the content it has, so this row must be small.
 */
const rowBytesMax = 64 * 1024;

/**
 * Stores a piece. The pieces of a content must arrive in sequence; a piece that is stored already is ignored. Returns false if the content is complete but
 * has another hash: then all its pieces are dropped. Throws Protocol for an invalid piece, and keeps the pieces that are stored.
 */
export function storePiece(t: Transaction, table: number, piece: Piece): boolean {
  const { contentHash, offset, total, data } = piece;
  if (contentHash.length !== hashBytes || data.length === 0 || total > piecedBytesMax || offset + data.length > total) {
    const what = `${data.length} bytes at ${offset} of ${total}, hash of ${contentHash.length} bytes`;
    throw new BanyanError('Protocol', `an invalid piece: ${what}; at most ${piecedBytesMax} in all`);
  }
  if (data.length < pieceBytesMin && offset + data.length < total) {
    throw new BanyanError(
      'Protocol',
      `a piece of ${data.length} bytes, which is not the last; at least ${pieceBytesMin}`,
    );
  }
  const last = lastOf(t, contentRange(table, contentHash));
  const haveBytes = last?.bytes ?? 0;
  if (offset + data.length <= haveBytes) return true;
  if (offset > haveBytes) throw new BanyanError('Protocol', `a piece from ${offset}, expected ${haveBytes}`);
  if (haveBytes === 0) dropOldest(t, table);
  let rows = last?.rows ?? 0;
  for (let at = haveBytes - offset; at < data.length; at += rowBytesMax) {
    t.put(rowKey(table, contentHash, rows), concat(u48(offset + at), data.subarray(at, at + rowBytesMax)));
    rows++;
  }
  if (offset + data.length < total) return true;
  const isWhole = equalBytes(hash128(recordOf(t, table, contentHash)), contentHash);
  if (!isWhole) forget(t, table, { contentHash, rows });
  return isWhole;
}

/**
 * For each incomplete content: the number of stored bytes, so that the producer can continue after them. Reads only the last row of each content: all contents
 * together may have 128 MiB, and each content that a peer begins causes this read.
 */
export function heldPieces(reader: Reader, table: number): HeldPieces[] {
  return lastRows(reader, table).map(({ contentHash, bytes }) => ({ contentHash, bytes }));
}

/**
 * Returns the entries, with the contents that were sent in pieces put together. Drops these pieces. Throws Protocol if a content is not complete, or if its
 * bytes are not a valid record of a content.
 */
export function contentWithPieces(t: Transaction, table: number, entries: readonly WireEntry[]): readonly WireEntry[] {
  if (entries.every(({ pieces }) => pieces === undefined)) return entries;
  return entries.map((entry) => {
    const { pieces, ...rest } = entry;
    if (!pieces) return entry;
    const record = recordOf(t, table, pieces);
    if (!equalBytes(hash128(record), pieces)) {
      const what = `an entry names the content ${hex(pieces)}, of which ${record.length} bytes are here`;
      throw new BanyanError('Protocol', what, {}, { retry: 'resync' });
    }
    const last = lastOf(t, contentRange(table, pieces));
    if (last) forget(t, table, last);
    return { ...rest, content: contentOfPeer(record) };
  });
}

/**
 * Drops all pieces. Runs when the feed has caught up, because then no entry will name these contents any more. The pieces may have 128 MiB together, so only
 * the last row of each content is read.
 */
export function dropPieces(t: Transaction, table: number): void {
  for (const last of lastRows(t, table)) forget(t, table, last);
}

function dropOldest(t: Transaction, table: number): void {
  const incomplete = lastRows(t, table);
  if (incomplete.length < heldMax) return;
  // It does not matter which content is dropped, because the producer sends it again.
  forget(t, table, incomplete[0]!);
}

/** Facts about all rows of a content, from the last row alone: the rows have consecutive numbers and their bytes have no gaps. */
interface LastRow extends HeldPieces {
  readonly rows: number;
}

/** The last row of each incomplete content, in the order of content hashes. */
function lastRows(reader: Reader, table: number): LastRow[] {
  const found: LastRow[] = [];
  const prefix = concat(prefixOf('pieceRow'), u32(table));
  let range: KeyRange | undefined = prefixRange(prefix);
  while (range) {
    const last = lastOf(reader, range);
    if (last) found.push(last);
    range = last && { from: range.from, to: concat(prefix, last.contentHash) };
  }
  return found.reverse();
}

/** The last row in a range. */
function lastOf(reader: Reader, range: KeyRange): LastRow | undefined {
  for (const [key, value] of reader.scan({ ...range, reverse: true, limit: 1 })) {
    const numberAt = key.length - u32Bytes;
    return {
      contentHash: key.subarray(numberAt - hashBytes, numberAt),
      bytes: readU48(value) + value.length - u48Bytes,
      rows: readU32(key, numberAt) + 1,
    };
  }
  return undefined;
}

/** The bytes of a content that have arrived so far. */
function recordOf(reader: Reader, table: number, contentHash: Uint8Array): Uint8Array {
  return concat(...Array.from(reader.scan(contentRange(table, contentHash)), ([, value]) => value.subarray(u48Bytes)));
}

function forget(t: Transaction, table: number, { contentHash, rows }: Omit<LastRow, 'bytes'>): void {
  for (let number = 0; number < rows; number++) t.remove(rowKey(table, contentHash, number));
}

function contentRange(table: number, contentHash: Uint8Array): KeyRange {
  return prefixRange(concat(prefixOf('pieceRow'), u32(table), contentHash));
}

function rowKey(table: number, contentHash: Uint8Array, number: number): Uint8Array {
  return concat(prefixOf('pieceRow'), u32(table), contentHash, u32(number));
}
