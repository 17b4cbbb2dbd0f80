/** Reading from LMDB: copies of values, and ranges read in pieces, so that no cursor is open while the caller works. */
import type { Database, Transaction as LmdbSnapshot } from 'lmdb';
import { asBuffer } from '../bytes.ts';
import { checkKey } from '../limits.ts';
import type { KeyRange, Reader } from '../store.ts';
import { storeError } from './disk-errors.ts';

/** A piece of a scan ends at either: long enough to make positioning cheap, short enough to read little in vain. */
const pieceEntriesMax = 256;
const pieceBytesMax = 256 * 1024;
/** Keys are never empty, so this is below or at every key. */
const lowestKey = Buffer.of(0);
const noOptions = {};

export class LmdbReader implements Reader {
  readonly #database: Database<Uint8Array, Uint8Array>;
  readonly #directory: string;
  readonly #options: { readonly transaction?: LmdbSnapshot };
  #ended = false;

  /** Without a snapshot it reads in the running write transaction. */
  constructor(database: Database<Uint8Array, Uint8Array>, directory: string, snapshot?: LmdbSnapshot) {
    this.#database = database;
    this.#directory = directory;
    this.#options = snapshot ? { transaction: snapshot } : noOptions;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#checkOpen();
    checkKey(key);
    try {
      return this.#database.get(key, this.#options);
    } catch (error) {
      throw storeError(this.#directory, 'read the store', error);
    }
  }

  *scan(range: KeyRange): Generator<[Uint8Array, Uint8Array]> {
    if (range.from.length > 0) checkKey(range.from);
    if (range.to.length > 0) checkKey(range.to);
    let bounds = range;
    let left = range.limit ?? Number.POSITIVE_INFINITY;
    let behind = false;
    while (left > 0 && Buffer.compare(bounds.from, bounds.to) < 0) {
      const piece = this.#piece(bounds, behind, Math.min(left, pieceEntriesMax));
      yield* piece.entries;
      if (!piece.more) return;
      left -= piece.entries.length;
      const last = piece.entries.at(-1)![0];
      bounds = range.reverse ? { ...bounds, to: last } : { ...bounds, from: last };
      behind = true;
    }
  }

  /** What it gave is gone with its transaction, and it must not be used any more. */
  end(): void {
    this.#ended = true;
  }

  /** Up to `limit` entries; `behind` leaves out the key at which it begins. The end of a reversed range is always left out. */
  #piece(range: KeyRange, behind: boolean, limit: number): { entries: [Uint8Array, Uint8Array][]; more: boolean } {
    this.#checkOpen();
    const from = range.from.length === 0 ? lowestKey : asBuffer(range.from);
    const to = asBuffer(range.to);
    const bounds = range.reverse
      ? { start: to, exclusiveStart: true, end: from, inclusiveEnd: true, reverse: true }
      : { start: from, exclusiveStart: behind, end: to };
    const entries: [Uint8Array, Uint8Array][] = [];
    let bytes = 0;
    try {
      for (const { key, value } of this.#database.getRange({ ...bounds, limit, ...this.#options })) {
        entries.push([key, value]);
        bytes += value.length;
        if (bytes >= pieceBytesMax) return { entries, more: true };
      }
    } catch (error) {
      throw storeError(this.#directory, 'read the store', error);
    }
    return { entries, more: entries.length === limit };
  }

  #checkOpen(): void {
    if (this.#ended) throw new Error('a read outside its transaction');
  }
}
