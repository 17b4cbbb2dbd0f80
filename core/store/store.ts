/**
 * The store port: an ordered map from bytes to bytes with one writer, snapshots for readers, and a flush that makes writes durable. Implementations:
 * `lmdb/` for the product, `memory/` for tests and the simulation. One contract suite checks both.
 *
 * Promises:
 * - `write` is atomic and synchronous. When it returns, every read of this process after it sees the whole write. If `fn` throws, no part of the write
 *   happens, and the error passes through.
 * - Call `flushed()` after a write: once it has resolved, the write survives every crash of the process or the machine. Without this, a crash may lose the
 *   newest writes. It loses each write as a whole, and never an older write without all newer ones. All callers that wait share one flush (group commit).
 * - `flushed` rejects with code StoreFull or StoreCorrupt if the disk did not accept the writes. Then the caller must not tell anybody about the writes.
 * - A scan sees the snapshot of its transaction. A scan inside `write` sees the earlier writes of this transaction. A key that is written during the scan
 *   may appear or not.
 * - `read` inside a `write` sees the changes of this write.
 *
 * Non-promises: no nested writes, no reads across `await`, no order among callers of `flushed`. Bytes are valid only until the transaction ends, unless
 * they are copies (`get` and `scan` return copies).
 */
import { readU32, u32 } from './bytes.ts';
import type { Topic } from './topics.ts';

export interface Reader {
  get(key: Uint8Array): Uint8Array | undefined;
  /** Entries with `from <= key < to`, in byte order, or in the reverse order with `reverse`. */
  scan(range: KeyRange): Iterable<[key: Uint8Array, value: Uint8Array]>;
  /** Number of keys with `from <= key < to`, without reading their values. */
  countKeys(range: Pick<KeyRange, 'from' | 'to'>): number;
}

export interface KeyRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  readonly reverse?: boolean;
  readonly limit?: number;
  /** Skips so many entries at the beginning, without reading their values. */
  readonly offset?: number;
}

export interface Transaction extends Reader {
  /** Sets the value of the key. The caller must not change the bytes of the key until `write` returns. */
  put(key: Uint8Array, value: Uint8Array): void;
  /** Removes the key. Returns true if the key existed. */
  remove(key: Uint8Array): boolean;
  /**
   * Adds to the counter (u32) under the key, and returns the sum. An absent key counts as 0, and a sum of 0 removes the key. The store may write a counter
   * only at the end of the transaction. Until then, `get` and `scan` may return the old number. Callers must not put or remove the key of a counter in
   * another way.
   */
  count(key: Uint8Array, by: number): number;
  /**
   * Calls the function after the transaction has happened and before `write` returns, in the order of the `afterCommit` calls. If the transaction fails,
   * the store does not call the function. The function may write. If a function throws, the store still calls the
   * others, keeps the transaction, and `write` throws the first error.
   */
  afterCommit(callback: () => void): void;
  /** Announces that this transaction changes the key. The subscribers of the topic run after the callbacks (topics.ts). */
  announce<K>(topic: Topic<K>, key: K): void;
}

/** A simple `count`, for a store that writes each counter at once. */
export function countNow(t: Pick<Transaction, 'get' | 'put' | 'remove'>, key: Uint8Array, by: number): number {
  const before = countIn(t.get(key));
  const sum = before + by;
  if (sum !== before) putCount(t, key, before, sum);
  return sum;
}

export function putCount(t: Pick<Transaction, 'put' | 'remove'>, key: Uint8Array, before: number, sum: number): void {
  if (sum > 0) t.put(key, u32(sum));
  else if (before > 0) t.remove(key);
}

export function countIn(value: Uint8Array | undefined): number {
  return value ? readU32(value) : 0;
}

export interface Store extends AsyncDisposable {
  read<T>(fn: (reader: Reader) => T): T;
  write<T>(fn: (transaction: Transaction) => T): T;
  /** Calls the listener after each further commit that announces keys of the topic. Returns the function that ends the subscription. */
  subscribe<K>(topic: Topic<K>, listener: (keys: ReadonlySet<K>) => void): () => void;
  /** Announces a change of state that is not in the store, for example a new session. In a transaction, use the `announce` of the transaction. */
  announce<K>(topic: Topic<K>, keys: readonly K[]): void;
  /** Resolves when everything that was written before this call is durable. */
  flushed(): Promise<void>;
  /** Writes a consistent copy of all data into a new directory. Other writes continue during the copy. */
  backup(directory: string): Promise<void>;
  /** The size of the data file, the bytes of pages in it that are free for reuse, and the free bytes of the disk. */
  size(): { usedBytes: number; freeBytes: number; diskFreeBytes: number };
}
