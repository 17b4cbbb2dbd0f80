/** Reads from LMDB. Values are copies. The reader reads a range in pieces, so that no cursor is open while the caller works on the entries. */
import type { Database, Transaction as LmdbSnapshot } from 'lmdb';
import { asBuffer } from '../bytes.ts';
import { checkKey } from '../limits.ts';
import type { KeyRange, Reader } from '../store.ts';
import { storeError } from './disk-errors.ts';

/**
 * A piece of a scan ends at the first of these bounds. A piece is long enough to make up for the cost of positioning, and short enough that little is read
 * for nothing.
 */
const pieceEntriesMax = 256;
const pieceBytesMax = 256 * 1024;
/** Lower than every key: keys are never empty, so none is lower than one zero byte. */
const lowestKey = Buffer.of(0);
const noOptions = {};
/** LMDB counts the skipped entries in 32 bits, and would begin again at 0. No range has so many entries. */
const offsetMax = 2 ** 32 - 1;

export class LmdbReader implements Reader {
  readonly #database: Database<Uint8Array, Uint8Array>;
  readonly #directory: string;
  readonly #options: { readonly transaction?: LmdbSnapshot };
  #ended = false;

  /** Without a snapshot, the reader reads in the running write transaction. */
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
    let excludesStart = false;
    let offset = range.offset ?? 0;
    let remaining = offset > offsetMax ? 0 : (range.limit ?? Number.POSITIVE_INFINITY);
    while (remaining > 0 && Buffer.compare(bounds.from, bounds.to) < 0) {
      const piece = this.#piece(bounds, { excludesStart, offset, limit: Math.min(remaining, pieceEntriesMax) });
      yield* piece.entries;
      if (!piece.more) return;
      remaining -= piece.entries.length;
      const last = piece.entries.at(-1)![0];
      bounds = range.reverse ? { ...bounds, to: last } : { ...bounds, from: last };
      excludesStart = true;
      offset = 0;
    }
  }

  countKeys({ from, to }: Pick<KeyRange, 'from' | 'to'>): number {
    this.#checkOpen();
    if (Buffer.compare(from, to) >= 0) return 0;
    const start = from.length === 0 ? lowestKey : asBuffer(from);
    try {
      return this.#database.getKeysCount({ start, end: asBuffer(to), ...this.#options });
    } catch (error) {
      throw storeError(this.#directory, 'read the store', error);
    }
  }

  /** Ends the reader together with its transaction. After this, reads throw. */
  end(): void {
    this.#ended = true;
  }

  /** Reads up to `limit` entries. With `excludesStart`, the piece begins after `range.from`. A reversed piece never contains `range.to`. */
  #piece(
    range: KeyRange,
    { excludesStart, offset, limit }: { excludesStart: boolean; offset: number; limit: number },
  ): { entries: [Uint8Array, Uint8Array][]; more: boolean } {
    this.#checkOpen();
    const from = range.from.length === 0 ? lowestKey : asBuffer(range.from);
    const to = asBuffer(range.to);
    const bounds = range.reverse
      ? { start: to, exclusiveStart: true, end: from, inclusiveEnd: true, reverse: true }
      : { start: from, exclusiveStart: excludesStart, end: to };
    const entries: [Uint8Array, Uint8Array][] = [];
    let bytes = 0;
    try {
      for (const { key, value } of this.#database.getRange({ ...bounds, offset, limit, ...this.#options })) {
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
