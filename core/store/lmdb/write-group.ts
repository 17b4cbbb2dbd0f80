/**
 * One LMDB transaction for all writes of a turn of the event loop. One commit per write would cost ten times as much, because each commit copies and syncs
 * pages.
 *
 * If the function of a write throws, the group undoes only this write. For this purpose it keeps the earlier values, which costs less than LMDB's nested
 * transactions. The first write of a group keeps no earlier values: if it throws, the whole transaction is aborted. Most work benefits from this, because a
 * room with much work does the work in one write of a turn.
 */
import { type RootDatabase, TransactionFlags } from 'lmdb';
import { asBuffer } from '../bytes.ts';
import { checkKey } from '../limits.ts';
import type { Transaction } from '../store.ts';
import type { AfterCommit } from '../topics.ts';
import { StoredCounters } from './counts.ts';
import { LmdbReader } from './lmdb-reader.ts';

export type LmdbDatabase = RootDatabase<Uint8Array, Uint8Array>;

/** This thread commits the transaction, and a flush after the commit makes it durable. */
const flags = TransactionFlags.ABORTABLE | TransactionFlags.SYNCHRONOUS_COMMIT | TransactionFlags.NO_SYNC_FLUSH;

/**
 * Number of reads whose values a write remembers. If the caller then puts the same key, the group has its earlier value without another read. For one
 * change, a caller reads a row, the counts of its content and the head of its table, and only then puts all of them.
 */
const remembered = 4;
const noKey = new Uint8Array(0);

interface Change {
  /** The bytes belong to the caller, who does not change them while its function runs. */
  readonly key: Uint8Array;
  readonly before: Uint8Array | undefined;
}

export class WriteGroup {
  readonly #database: LmdbDatabase;
  readonly #directory: string;
  #end: { commit: () => void; abort: (reason: Error) => void } | undefined;
  #bytes = 0;
  #hasChanged = false;
  #void = false;

  constructor(database: LmdbDatabase, directory: string) {
    this.#database = database;
    this.#directory = directory;
    // lmdb commits when the result of its callback is fulfilled. A promise would be fulfilled only in the next microtask. So this code returns an object
    // that `commit` fulfils at once.
    database.transactionSync(
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: lmdb has to wait for this object
        then: (commit: () => void, abort: (reason: Error) => void) => {
          this.#end = { commit, abort };
        },
      }),
      flags,
    );
  }

  /** Number of bytes that the group has put, and has kept to undo writes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True after the first write of the group has thrown. Then the group must not be committed. */
  get isVoid(): boolean {
    return this.#void;
  }

  /** Runs one write. Adds the callbacks and the announcements of the transaction to `after`. */
  run<T>(fn: (transaction: Transaction) => T, after: AfterCommit): T {
    const reader = new LmdbReader(this.#database, this.#directory);
    const changes: Change[] = [];
    // A caller that increments a value calls `get` and then `put` with the same key object. The value from `get` is then the earlier value, without another
    // read. If other code has put an equal key with another key object in between, that code recorded the same earlier value first. `run` undoes the
    // changes in reverse order, so that first record decides.
    const readKeys: Uint8Array[] = Array.from({ length: remembered }, () => noKey);
    const readValues: (Uint8Array | undefined)[] = Array.from({ length: remembered }, () => undefined);
    let reads = 0;
    const isFirst = !this.#hasChanged;
    const change = (key: Uint8Array, beforeOf: () => Uint8Array | undefined): void => {
      this.#hasChanged = true;
      this.#bytes += key.length;
      if (isFirst) return;
      const before = beforeOf();
      changes.push({ key, before });
      this.#bytes += before?.length ?? 0;
    };
    const counts = new StoredCounters();
    const transaction: Transaction = {
      get: (key) => {
        const value = reader.get(key);
        const at = reads++ % remembered;
        readKeys[at] = key;
        readValues[at] = value;
        return value;
      },
      scan: (range) => reader.scan(range),
      countKeys: (range) => reader.countKeys(range),
      put: (key, value) => {
        checkKey(key);
        const at = readKeys.indexOf(key);
        change(key, () => (at < 0 ? reader.get(key) : readValues[at]));
        this.#database.putSync(asBuffer(key), value);
        if (at >= 0) readKeys[at] = noKey;
        this.#bytes += value.length;
      },
      count: (key, by) => counts.add(transaction, key, by),
      afterCommit: (callback) => after.call(callback),
      announce: (topic, key) => after.announce(topic, key),
      remove: (key) => {
        checkKey(key);
        change(key, () => reader.get(key));
        return this.#database.removeSync(asBuffer(key));
      },
    };
    try {
      const value = fn(transaction);
      if (value instanceof Promise) throw new Error('a transaction ends when its function returns: it cannot be async');
      counts.write(transaction);
      return value;
    } catch (error) {
      if (isFirst) this.#void = this.#hasChanged;
      else for (const { key, before } of changes.reverse()) this.#restore(key, before);
      throw error;
    } finally {
      reader.end();
    }
  }

  commit(): void {
    this.#end?.commit();
  }

  abort(): void {
    const reason = new Error('aborted');
    try {
      this.#end?.abort(reason);
    } catch (error) {
      if (error !== reason) throw error;
    }
  }

  #restore(key: Uint8Array, before: Uint8Array | undefined): void {
    if (before === undefined) this.#database.removeSync(asBuffer(key));
    else this.#database.putSync(asBuffer(key), before);
  }
}
