/**
 * The store port over LMDB: one root database, keys and values as bytes. The writes of a turn of the event loop are one LMDB transaction,
 * committed without waiting for the disk at the end of the turn; a flush makes everything so far durable on a thread of the pool, for
 * everyone who waits (README.md).
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Transaction as LmdbSnapshot, open } from 'lmdb';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { makePrivate } from '../../runtime/private-files.ts';
import type { Reader, Store, Transaction } from '../store.ts';
import { AfterCommit, Subscriptions, type Topic } from '../topics.ts';
import { DataFile, type DataSync, dataFileName, sealCopy, systemDataSync } from './data-file.ts';
import { DirectoryLock } from './directory-lock.ts';
import { fullError, isStoreFault, lostError, storeError } from './disk-errors.ts';
import { type Host, localHost } from './host.ts';
import { LmdbReader } from './lmdb-reader.ts';
import { prepareDataFile } from './recovery.ts';
import { type LmdbDatabase, WriteGroup } from './write-group.ts';

export interface LmdbStoreOptions {
  readonly directory: string;
  /** Address space to begin with; it grows when the data does, at the cost of a second mapping of the file. */
  readonly mapSizeBytes?: number;
  /** Beside the process that writes, or alone; without a lock. */
  readonly readOnly?: boolean;
  readonly host?: Host;
  readonly dataSync?: DataSync;
  /** Called once: nothing more is written, or called durable, until the directory is opened anew, so that a node has to end. */
  failed?(error: BanyanError): void;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: BanyanError) => void;
}

/** Address space costs nothing until it is used, and few stores will reach this. */
const defaultMapSizeBytes = 16 * 2 ** 30;
/** A turn that writes more is committed in parts: what LMDB holds in memory stays small. */
const groupBytesMax = 4 * 2 ** 20;
/**
 * With less free space on the disk nothing is written: four groups, so that a full disk is found before a commit has to fail,
 * for after that the process must start anew.
 */
const freeDiskBytesMin = 4 * groupBytesMax;
/**
 * After so many commits it is flushed also when nobody waits for that. Until then no page of the flushed state is used again, so that each commit makes the
 * file longer by the pages that it changes: a dozen, mostly. An agent that looked at 2,000 objects at its start made 30 MB out of 5.
 */
const unflushedCommitsMax = 16;

export class LmdbStore implements Store {
  readonly #directory: string;
  readonly #logger: Logger;
  readonly #lock: DirectoryLock | undefined;
  readonly #database: LmdbDatabase;
  /** Absent when readOnly. */
  readonly #data: DataFile | undefined;
  /** A read transaction on the state of the last flush: LMDB reuses no page of it. */
  #flushedSnapshot: LmdbSnapshot | undefined;
  readonly #subscriptions = new Subscriptions();
  #group: WriteGroup | undefined;
  #writing = false;
  /** In this turn. */
  #hasRoom = false;
  #wasFull = false;
  #reads = 0;
  #writes = 0;
  #durableWrites = 0;
  #unflushedCommits = 0;
  #waiting: Waiter[] = [];
  #flushing: Promise<void> | undefined;
  readonly #backups = new Set<Promise<void>>();
  readonly #failed: (error: BanyanError) => void;
  #failure: BanyanError | undefined;

  /** Throws StoreFull, StoreCorrupt, or Unavailable when another process has the directory. */
  static open(options: LmdbStoreOptions, logger: Logger): LmdbStore {
    const { directory, readOnly = false, host = localHost() } = options;
    let lock: DirectoryLock | undefined;
    try {
      if (!readOnly) {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        makePrivate(directory);
        lock = DirectoryLock.take(directory, host);
      }
      prepareDataFile({ directory, host, readOnly, logger });
      return new LmdbStore({ ...options, host }, lock, logger);
    } catch (error) {
      lock?.release();
      throw storeError(directory, 'open the store', error);
    }
  }

  private constructor(options: LmdbStoreOptions & { host: Host }, lock: DirectoryLock | undefined, logger: Logger) {
    const { directory, dataSync = systemDataSync } = options;
    this.#directory = directory;
    this.#lock = lock;
    this.#logger = logger;
    this.#failed = (error) => options.failed?.(error);
    this.#database = openDatabase(options);
    if (options.readOnly) return;
    try {
      this.#data = new DataFile(directory, pageBytesOf(this.#database), options.host.bootId, dataSync);
      // What an earlier process has written and not flushed is on the disk before its pages may be reused.
      this.#flushedSnapshot = this.#database.useReadTransaction();
      this.#data.flushNow();
    } catch (error) {
      this.#data?.close();
      this.#database
        .close()
        .catch((second) => logger.error({ directory }, `LMDB did not close: ${describeError(second)}`));
      throw error;
    }
  }

  read<T>(fn: (reader: Reader) => T): T {
    // What the group has not committed yet, only its own transaction sees.
    const snapshot = this.#group ? undefined : this.#database.useReadTransaction();
    const reader = new LmdbReader(this.#database, this.#directory, snapshot);
    this.#reads++;
    try {
      return fn(reader);
    } finally {
      this.#reads--;
      reader.end();
      snapshot?.done();
    }
  }

  write<T>(fn: (transaction: Transaction) => T): T {
    const after = new AfterCommit();
    const value = this.#run(fn, after);
    after.run(this.#subscriptions);
    return value;
  }

  subscribe<K>(topic: Topic<K>, listener: (keys: ReadonlySet<K>) => void): () => void {
    return this.#subscriptions.add(topic, listener);
  }

  announce<K>(topic: Topic<K>, ...keys: readonly K[]): void {
    this.#subscriptions.announce(topic, keys);
  }

  flushed(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    const data = this.#data;
    if (!data || this.#durableWrites === this.#writes) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#flushing ??= this.#flush(data);
    });
  }

  backup(directory: string): Promise<void> {
    const copying = this.#copyTo(directory).finally(() => this.#backups.delete(copying));
    this.#backups.add(copying);
    return copying;
  }

  size(): { usedBytes: number; freeBytes: number; diskFreeBytes: number } {
    const { root, free } = statsOf(this.#database);
    const usedBytes = this.#data?.sizeBytes() ?? 0;
    const pagesInUse = metaPages + pagesOf(root) + pagesOf(free);
    const diskFreeBytes = this.#data?.freeDiskBytes() ?? Number.POSITIVE_INFINITY;
    return { usedBytes, freeBytes: Math.max(0, usedBytes - pagesInUse * root.pageSize), diskFreeBytes };
  }

  /** Flushes what is not flushed yet; an error of that passes through when all is closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#backups);
    try {
      if (!this.#failure) await this.flushed();
    } finally {
      await this.#flushing;
      this.#commit();
      this.#failure = new BanyanError('Unavailable', `the store in ${this.#directory} is closed; open it again`);
      this.#flushedSnapshot?.done();
      await this.#database.close();
      this.#data?.close();
      this.#lock?.release();
    }
  }

  #run<T>(fn: (transaction: Transaction) => T, after: AfterCommit): T {
    const group = this.#openGroup();
    this.#writing = true;
    let value: T;
    try {
      value = group.run(fn, after);
    } catch (error) {
      if (isStoreFault(error)) this.#abandon(group, error);
      else if (group.isVoid) this.#drop(group);
      throw error;
    } finally {
      this.#writing = false;
    }
    this.#writes++;
    if (group.bytes > groupBytesMax) {
      this.#commit();
      if (this.#failure) throw this.#failure;
    }
    return value;
  }

  /** The transaction of this turn; throws unless there may be one. */
  #openGroup(): WriteGroup {
    if (this.#failure) throw this.#failure;
    if (this.#writing || this.#reads > 0) throw new Error('a write inside another transaction');
    if (!this.#data) {
      throw new BanyanError('MethodNotAllowed', `the store in ${this.#directory} is open for reading only`);
    }
    if (this.#group) return this.#group;
    this.#checkRoom(this.#data);
    const group = new WriteGroup(this.#database, this.#directory);
    this.#group = group;
    setImmediate(() => {
      if (this.#group === group) this.#commit();
    });
    return group;
  }

  /** Once a turn: what a turn has begun to write is not refused in the middle. */
  #checkRoom(data: DataFile): void {
    if (this.#hasRoom) return;
    const full = data.freeDiskBytes() < freeDiskBytesMin ? fullError(this.#directory, 'write to the store') : undefined;
    if ((full !== undefined) !== this.#wasFull)
      this.#logger.warn({ directory: this.#directory }, full?.message ?? 'the store has room again');
    this.#wasFull = full !== undefined;
    if (full) throw full;
    this.#hasRoom = true;
    setImmediate(() => {
      this.#hasRoom = false;
    });
  }

  /** Writes that have returned are lost when it fails: their callers learn it from `flushed`. */
  #commit(): void {
    const group = this.#group;
    this.#group = undefined;
    if (!group) return;
    try {
      group.commit();
    } catch (cause) {
      // LMDB reports a write that was cut short by a full disk as an input/output error.
      const full = (this.#data?.freeDiskBytes() ?? 0) < freeDiskBytesMin;
      this.#fail(lostError(this.#directory, 'commit to', cause, full));
    }
    if (this.#data && ++this.#unflushedCommits >= unflushedCommitsMax) this.#flushing ??= this.#flush(this.#data);
  }

  #abandon(group: WriteGroup, error: BanyanError): void {
    this.#drop(group);
    this.#fail(error);
  }

  #drop(group: WriteGroup): void {
    this.#group = undefined;
    group.abort();
  }

  /** From here on nobody can say what is on the disk: nothing more is written, or called durable. */
  #fail(error: BanyanError): void {
    const isFirst = this.#failure === undefined;
    this.#failure ??= error;
    this.#logger.error({ directory: this.#directory }, error.message);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
    if (isFirst) this.#failed(error);
  }

  /** Tells a failure to who waits, now or later, and to the log. Runs while anyone waits, or many commits were made meanwhile; whoever comes during one flush shares the next. */
  async #flush(data: DataFile): Promise<void> {
    while (this.#waiting.length > 0 || this.#unflushedCommits >= unflushedCommitsMax) {
      await endOfTurn();
      this.#commit();
      if (this.#failure) break;
      const waiting = this.#waiting;
      const writes = this.#writes;
      this.#waiting = [];
      this.#unflushedCommits = 0;
      // Both snapshots are held until the newer one is on the disk, mark and all.
      const snapshot = this.#database.useReadTransaction();
      try {
        await data.flush(data.capture());
      } catch (cause) {
        snapshot.done();
        this.#waiting.unshift(...waiting);
        // First: whoever hears of it may end the process where it stands.
        this.#distrust(data);
        this.#fail(lostError(this.#directory, 'flush', cause));
        break;
      }
      this.#flushedSnapshot?.done();
      this.#flushedSnapshot = snapshot;
      this.#durableWrites = writes;
      for (const { resolve } of waiting) resolve();
    }
    this.#flushing = undefined;
  }

  #distrust(data: DataFile): void {
    try {
      data.distrust();
    } catch (error) {
      const message = `the failed flush could not be noted on the disk: ${describeError(error)}`;
      this.#logger.error({ directory: this.#directory }, message);
    }
  }

  async #copyTo(directory: string): Promise<void> {
    const file = join(directory, dataFileName);
    if (existsSync(file)) {
      throw new BanyanError(
        'AlreadyExists',
        `${directory} holds a store already; choose another directory for the backup`,
      );
    }
    this.#commit();
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      await this.#database.backup(file, false);
      makePrivate(file);
      sealCopy(directory, pageBytesOf(this.#database));
    } catch (error) {
      rmSync(file, { force: true });
      throw storeError(directory, 'write the backup', error);
    }
  }
}

function openDatabase({
  directory,
  mapSizeBytes = defaultMapSizeBytes,
  readOnly = false,
}: LmdbStoreOptions): LmdbDatabase {
  return open<Uint8Array, Uint8Array>({
    path: join(directory, dataFileName),
    // Otherwise a dot in the directory's name would make lmdb take it for a file.
    noSubdir: true,
    keyEncoding: 'binary',
    encoding: 'binary',
    // lmdb's own way of late syncing makes the commit of a synchronous transaction wait for the disk.
    overlappingSync: false,
    mapSize: mapSizeBytes,
    readOnly,
  });
}

interface TreeStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

/** Pages 0 and 1 are LMDB's root records. */
const metaPages = 2;

function pagesOf(tree: TreeStats): number {
  return tree.treeBranchPageCount + tree.treeLeafPageCount + tree.overflowPages;
}

/** lmdb declares no type for its statistics: the tree of the root database, and the list of free pages, which is a tree too. */
function statsOf(database: LmdbDatabase): { root: TreeStats; free: TreeStats } {
  return database.getStats() as { root: TreeStats; free: TreeStats };
}

function pageBytesOf(database: LmdbDatabase): number {
  return statsOf(database).root.pageSize;
}

/** All writes of this turn of the event loop share the flush. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
