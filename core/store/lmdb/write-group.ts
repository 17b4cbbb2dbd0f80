/**
 * One LMDB transaction for all writes of a turn of the event loop. One commit for each write would cost ten times as much, in pages copied and synced.
 *
 * If the function of a write throws, the group undoes this write alone: it keeps the former values, which costs less than LMDB's nested transactions. If the
 * first write of the group throws, the whole transaction is aborted, so the first write keeps no former values. Most work is done so, because a room with
 * much work does it in one write of a turn.
 */
import { type RootDatabase, TransactionFlags } from 'lmdb';
import { asBuffer } from '../bytes.ts';
import { checkKey } from '../limits.ts';
import type { Transaction } from '../store.ts';
import type { AfterCommit } from '../topics.ts';
import { StoredCounters } from './counts.ts';
import { LmdbReader } from './lmdb-reader.ts';

export type LmdbDatabase = RootDatabase<Uint8Array, Uint8Array>;

/** This thread commits. A later flush makes the commit durable. */
const flags = TransactionFlags.ABORTABLE | TransactionFlags.SYNCHRONOUS_COMMIT | TransactionFlags.NO_SYNC_FLUSH;

/**
 * Number of reads whose values a write remembers, for a later put of the same key. For one change, a caller reads a row, the counts of its content and the
 * head of its table before it puts any of them.
 */
const remembered = 4;
const noKey = new Uint8Array(0);

interface Change {
  /** The bytes of the caller, which does not change them while its function runs. */
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
    // lmdb commits when the result of its callback is fulfilled. A promise would be fulfilled in a later microtask. This result is fulfilled by `commit`.
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

  /** Bytes that the group has put and kept so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True after the first write of the group has thrown. The group must not be committed. */
  get isVoid(): boolean {
    return this.#void;
  }

  /** Adds the callbacks and the announcements of the transaction to `after`. */
  run<T>(fn: (transaction: Transaction) => T, after: AfterCommit): T {
    const reader = new LmdbReader(this.#database, this.#directory);
    const changes: Change[] = [];
    // A caller that increments a value gets it and puts the next one with the same key object. Then the former value is known without another read. If other
    // code has put an equal key with another key object meanwhile, it recorded the same former value first. `run` undoes that change last.
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
