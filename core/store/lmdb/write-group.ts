/**
 * One LMDB transaction that takes all writes of a turn of the event loop: committing each by itself costs ten times as much, in pages copied and
 * synced. Each write is undone by itself when its function throws: LMDB's nested transactions would cost more than the values kept here. With the first one
 * goes the whole transaction, so that of most nothing has to be read to be kept: work is done in one write a turn wherever it is much.
 */
import { type RootDatabase, TransactionFlags } from 'lmdb';
import { asBuffer } from '../bytes.ts';
import { checkKey } from '../limits.ts';
import type { Transaction } from '../store.ts';
import type { AfterCommit } from '../topics.ts';
import { StoredCounters } from './counts.ts';
import { LmdbReader } from './lmdb-reader.ts';

export type LmdbDatabase = RootDatabase<Uint8Array, Uint8Array>;

/** Committed by this thread, and left to a flush to make durable. */
const flags = TransactionFlags.ABORTABLE | TransactionFlags.SYNCHRONOUS_COMMIT | TransactionFlags.NO_SYNC_FLUSH;

/** Reads of a write whose values are known when the same key is put: a row, its content's counts and the head of its table are read before any of them is. */
const remembered = 4;
const noKey = new Uint8Array(0);

interface Change {
  /** The caller's own bytes: it leaves them as they are as long as its function runs. */
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
    // lmdb commits when what its callback returns is fulfilled. A promise would be so in a later microtask; this is when `commit` says.
    database.transactionSync(
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: being waited for is its purpose
        then: (commit: () => void, abort: (reason: Error) => void) => {
          this.#end = { commit, abort };
        },
      }),
      flags,
    );
  }

  /** Bytes put and kept so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Its only write has thrown: nothing of it may be committed. */
  get isVoid(): boolean {
    return this.#void;
  }

  /** `after` gets what the transaction leaves to be done once it has happened. */
  run<T>(fn: (transaction: Transaction) => T, after: AfterCommit): T {
    const reader = new LmdbReader(this.#database, this.#directory);
    const changes: Change[] = [];
    // Who counts or moves on reads a value and puts the next one under the same bytes: what it was is known then. Another put under it meanwhile, by
    // other bytes, has noted the same value, and is undone last.
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
