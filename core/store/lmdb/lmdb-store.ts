/**
 * The store port on LMDB: one root database, with keys and values as bytes. All writes of one turn of the event loop are one LMDB transaction. The store
 * commits the transaction at the end of the turn, and does not wait for the disk. A flush makes all commits so far durable, on a thread of the pool, for
 * all callers that wait (README.md).
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
import { finishReplacement } from './replacement.ts';
import { type LmdbDatabase, WriteGroup } from './write-group.ts';

export interface LmdbStoreOptions {
  readonly directory: string;
  /** Address space at the start. It grows with the data; to grow, the store maps the file a second time. */
  readonly mapSizeBytes?: number;
  /** Opens the store without a lock, even while another process writes. */
  readonly readOnly?: boolean;
  readonly host?: Host;
  readonly dataSync?: DataSync;
  /**
   * The store calls this once, after a failure of the disk. Until the directory is opened again, the store writes nothing and confirms no flush. So the
   * node must end.
   */
  failed?(error: BanyanError): void;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: BanyanError) => void;
}

/** Unused address space costs nothing, and few stores will reach this size. */
const defaultMapSizeBytes = 16 * 2 ** 30;
/** If a turn writes more bytes, the store commits the turn in several parts, so that LMDB holds little in memory. */
const groupBytesMax = 4 * 2 ** 20;
/**
 * If the disk has less free space, the store refuses writes. Four groups are enough to find a full disk before a commit fails. After a failed commit, the
 * process would have to start again.
 */
const freeDiskBytesMin = 4 * groupBytesMax;
/**
 * After this many commits, the store flushes even if nobody waits for a flush. Until the next flush, LMDB can't reuse the pages of the flushed state. So
 * each commit makes the file longer by the pages that it changes, usually about twelve. Without this bound, the file of an agent that looked at 2,000
 * objects at its start grew from 5 MB to 30 MB.
 */
const unflushedCommitsMax = 16;

export class LmdbStore implements Store {
  readonly #directory: string;
  readonly #logger: Logger;
  readonly #lock: DirectoryLock | undefined;
  readonly #database: LmdbDatabase;
  /** Absent if the store is readOnly. */
  readonly #data: DataFile | undefined;
  /** A read transaction on the state of the last flush. While it is open, LMDB reuses no page of this state. */
  #flushedSnapshot: LmdbSnapshot | undefined;
  readonly #subscriptions = new Subscriptions();
  #group: WriteGroup | undefined;
  #writing = false;
  /** True if the store has found enough free space in this turn. */
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

  /** Throws StoreFull, StoreCorrupt, or, if another process uses the directory, Unavailable. */
  static open(options: LmdbStoreOptions, logger: Logger): LmdbStore {
    const { directory, readOnly = false, host = localHost() } = options;
    let lock: DirectoryLock | undefined;
    try {
      if (!readOnly) {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        makePrivate(directory);
        lock = DirectoryLock.take(directory, host);
      }
      finishReplacement(directory, readOnly, logger);
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
      // An earlier process may have written without a flush. LMDB must not reuse pages before these writes are on the disk.
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
    // Only the group's own transaction sees writes that the group has not committed yet. So while a group is open, the reader has no snapshot and reads in
    // this transaction.
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

  announce<K>(topic: Topic<K>, keys: readonly K[]): void {
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

  /** Flushes, then closes everything. If the flush fails, throws its error after the close. */
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

  /** The transaction of this turn. Throws if the store is not allowed to write now. */
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

  /** Checks the free space once per turn. So once a turn has begun to write, the store does not refuse its remaining writes. */
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

  /** Commits the group. If the commit fails, the store has lost writes that it had already accepted. Their callers get the error from `flushed`. */
  #commit(): void {
    const group = this.#group;
    this.#group = undefined;
    if (!group) return;
    try {
      group.commit();
    } catch (cause) {
      // If a full disk cuts a write short, LMDB reports an input/output error.
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

  /** Stops all writes and confirms no more flushes, because the state on the disk is unknown after a failure. */
  #fail(error: BanyanError): void {
    const isFirst = this.#failure === undefined;
    this.#failure ??= error;
    this.#logger.error({ directory: this.#directory }, error.message);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
    if (isFirst) this.#failed(error);
  }

  /**
   * Flushes until nobody waits and fewer than `unflushedCommitsMax` commits are unflushed. Callers that arrive during one flush share the next one. A
   * failure is logged once, and passed to all callers that wait now or call later.
   */
  async #flush(data: DataFile): Promise<void> {
    while (this.#waiting.length > 0 || this.#unflushedCommits >= unflushedCommitsMax) {
      await endOfTurn();
      this.#commit();
      if (this.#failure) break;
      const waiting = this.#waiting;
      const writes = this.#writes;
      this.#waiting = [];
      this.#unflushedCommits = 0;
      // Keeps both snapshots until the newer state and its mark are on the disk.
      const snapshot = this.#database.useReadTransaction();
      try {
        await data.flush(data.capture());
      } catch (cause) {
        snapshot.done();
        this.#waiting.unshift(...waiting);
        // Must happen before `#fail`, whose callbacks may end the process at once.
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
    // Without this option, lmdb would treat a directory with a dot in its name as a file.
    noSubdir: true,
    keyEncoding: 'binary',
    encoding: 'binary',
    // With overlappingSync, the commit of a synchronous transaction would wait for the disk.
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

/** The statistics of lmdb, which declares no type for them: the tree of the root database, and the list of free pages, which is also a tree. */
function statsOf(database: LmdbDatabase): { root: TreeStats; free: TreeStats } {
  return database.getStats() as { root: TreeStats; free: TreeStats };
}

function pageBytesOf(database: LmdbDatabase): number {
  return statsOf(database).root.pageSize;
}

/** Resolves at the end of this turn of the event loop. A flush waits for this, so that it covers all writes of the turn. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
