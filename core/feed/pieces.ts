/**
 * Contents that come in pieces, beside the order of their feed: what has come of each is kept in the store until an entry names the whole, so that a
 * line that breaks every minute still brings a large object over. A content is named by its hash, so the pieces of one session are of use in the next.
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

/** As large as a record in one frame could be: pieces do not make objects larger. */
export const piecedBytesMax = 4 * 1024 * 1024;
/** What a piece has at least, unless it is the last of its content: half of the least message, so that one content is a thousand rows at most. */
export const pieceBytesMin = 4 * 1024;
/** Contents of which only the beginning is there: as many as a producer owes at once, and those of an earlier session. */
export const heldMax = 32;
/**
 * A row of what came: as large as a message ever is, so that the pieces of this product are a row each. A peer may send larger ones, which are cut: what is
 * there of a content is known by its last row, and reading that must stay cheap.
 */
const rowBytesMax = 64 * 1024;

/**
 * Takes a piece in, in order; one that is there already is passed over. False: the whole is not what its hash says, and all of it is dropped. Throws
 * Protocol, and keeps what was there.
 */
export function storePiece(t: Transaction, table: number, piece: Piece): boolean {
  const { contentHash, offset, total, data } = piece;
  if (contentHash.length !== hashBytes || data.length === 0 || total > piecedBytesMax || offset + data.length > total) {
    const what = `${data.length} bytes at ${offset} of ${total}, hash of ${contentHash.length} bytes`;
    throw new BanyanError('Protocol', `a piece that can't be: ${what}; at most ${piecedBytesMax} in all`);
  }
  if (data.length < pieceBytesMin && offset + data.length < total) {
    throw new BanyanError(
      'Protocol',
      `a piece of ${data.length} bytes, which is not the last; at least ${pieceBytesMin}`,
    );
  }
  const last = lastOf(t, contentRange(table, contentHash));
  const have = last?.bytes ?? 0;
  if (offset + data.length <= have) return true;
  if (offset > have) throw new BanyanError('Protocol', `a piece from ${offset}, expected ${have}`);
  if (have === 0) dropOldest(t, table);
  let rows = last?.rows ?? 0;
  for (let at = have - offset; at < data.length; at += rowBytesMax) {
    t.put(rowKey(table, contentHash, rows), concat(u48(offset + at), data.subarray(at, at + rowBytesMax)));
    rows++;
  }
  if (offset + data.length < total) return true;
  const whole = equalBytes(hash128(recordOf(t, table, contentHash)), contentHash);
  if (!whole) forget(t, table, { contentHash, rows });
  return whole;
}

/**
 * What has come of contents that are not whole yet, to go on with. One row of each is read, its last: they may be 128 MiB together, and a peer that begins
 * one content after the other has this asked for each.
 */
export function heldPieces(reader: Reader, table: number): HeldPieces[] {
  return lastRows(reader, table).map(({ contentHash, bytes }) => ({ contentHash, bytes }));
}

/** The entries with the contents that they name by pieces, which are not kept any longer. Throws Protocol if one is not whole, or is none. */
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

/** Of contents that nobody will name any more: the feed has caught up. They may be 128 MiB together, of which the last row of each is read. */
export function dropPieces(t: Transaction, table: number): void {
  for (const last of lastRows(t, table)) forget(t, table, last);
}

function dropOldest(t: Transaction, table: number): void {
  const held = lastRows(t, table);
  if (held.length < heldMax) return;
  // Any will do: what is dropped comes again.
  forget(t, table, held[0]!);
}

/** What the last row of a content says of all of its rows, which are in order and without a gap. */
interface LastRow extends HeldPieces {
  readonly rows: number;
}

/** In order of content hash. */
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

/** Of the last content in a range. */
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

/** Of a content, as far as it has come. */
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
