/**
 * The store port: an ordered map from bytes to bytes with one writer, snapshots for readers, and a flush that means
 * durable. Implementations: `lmdb/` for the product, `memory/` for tests and the simulation; one contract suite for both.
 *
 * Promises:
 * - `write` is atomic and synchronous: when it returns, every later read of this process sees all of it; when `fn`
 *   throws, nothing of it happened and the error passes through.
 * - What `write` did survives a crash, of the process or the machine, once a `flushed()` that was called after it has resolved; before,
 *   a crash loses the newest writes, in order and each whole. Several waiting callers share one flush (group commit).
 * - `flushed` rejects with code StoreFull or StoreCorrupt when the disk did not take it; nothing may then be announced.
 * - A scan sees the snapshot of its transaction; a scan inside `write` sees the writes made before it in that transaction, and keys
 *   written during the scan may or may not appear.
 * - `read` inside a `write` sees that write.
 * Non-promises: no nested writes, no reads across `await`, no order among callers of `flushed`, bytes handed out are valid only until
 * the transaction ends unless copied (`get` returns a copy, `scan` too).
 */
import { readU32, u32 } from './bytes.ts';
import type { Topic } from './topics.ts';

export interface Reader {
  get(key: Uint8Array): Uint8Array | undefined;
  /** Entries with `from <= key < to`, in byte order; reversed gives the greatest first. */
  scan(range: KeyRange): Iterable<[key: Uint8Array, value: Uint8Array]>;
}

export interface KeyRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  readonly reverse?: boolean;
  readonly limit?: number;
}

export interface Transaction extends Reader {
  /** The bytes of the key stay as they are until `write` returns. */
  put(key: Uint8Array, value: Uint8Array): void;
  /** True if the key was there. */
  remove(key: Uint8Array): boolean;
  /**
   * Adds to the number under the key, u32, and gives the sum; absent is 0, and 0 is absent. One that is counted often in a transaction may be written once,
   * at its end: until then `get` and `scan` may give the number of before, and nobody puts or removes such a key otherwise.
   */
  count(key: Uint8Array, by: number): number;
  /**
   * Called once the transaction has happened, before `write` returns, in order of asking; never when it did not. It may write. What it
   * throws comes out of `write`, and later ones are not called: the work of the transaction stands.
   */
  afterCommit(callback: () => void): void;
  /** The key changes with this transaction: the subscribers of the topic are called behind the callbacks; see topics.ts. */
  announce<K>(topic: Topic<K>, key: K): void;
}

/** `count` of a transaction that writes each number when it is counted. */
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
  /** For the commits to come; returns the end of the subscription. */
  subscribe<K>(topic: Topic<K>, listener: (keys: ReadonlySet<K>) => void): () => void;
  /** For changes of state that is not in the store, as a session that begins. Not inside a transaction: the transaction announces. */
  announce<K>(topic: Topic<K>, ...keys: readonly K[]): void;
  /** Resolves when everything written before this call is durable. */
  flushed(): Promise<void>;
  /** A consistent copy of everything, made while writers go on, into a new directory. */
  backup(directory: string): Promise<void>;
  /** Bytes on disk, bytes of pages in it that are free for reuse, and what the disk has left. */
  size(): { usedBytes: number; freeBytes: number; diskFreeBytes: number };
}
