/**
 * The store port in memory, for tests and the simulation: an immutable sorted list of chunks, so that a snapshot is a
 * reference and a crash is going back to the last flushed one.
 */
import { Buffer } from 'node:buffer';
import { BanyanError } from '../../runtime/errors.ts';
import { checkKey } from '../limits.ts';
import { countNow, type KeyRange, type Reader, type Store, type Transaction } from '../store.ts';
import { AfterCommit, Subscriptions, type Topic } from '../topics.ts';

type Pair = readonly [key: Uint8Array, value: Uint8Array];
type Chunk = Pair[];
/** Sorted chunks of sorted pairs; never changed in place, but for those that the running transaction has made itself. */
type MemorySnapshot = readonly (readonly Pair[])[];
type Own = Set<readonly Pair[]>;

/** Copying one chunk is what a write costs. */
const chunkMax = 512;

export class MemoryStore implements Store {
  #now: MemorySnapshot = [];
  #durable: MemorySnapshot = [];
  #failure: BanyanError | undefined;
  #writing: MemorySnapshot | undefined;
  readonly #own: Own = new Set();
  readonly #subscriptions = new Subscriptions();
  #reads = 0;
  readonly #manualFlush: boolean;
  #waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(options: { manualFlush?: boolean } = {}) {
    this.#manualFlush = options.manualFlush ?? false;
  }

  read<T>(fn: (reader: Reader) => T): T {
    const snapshot = this.#writing ?? this.#now;
    this.#own.clear();
    const reader = new SnapshotReader(() => snapshot);
    this.#reads++;
    try {
      return fn(reader);
    } finally {
      this.#reads--;
      reader.end();
    }
  }

  write<T>(fn: (transaction: Transaction) => T): T {
    if (this.#failure) throw this.#failure;
    if (this.#writing || this.#reads > 0) throw new Error('a write inside another transaction');
    this.#writing = this.#now;
    this.#own.clear();
    const reader = new SnapshotReader(
      () => this.#writing!,
      () => this.#own.clear(),
    );
    const after = new AfterCommit();
    const result = this.#run(fn, reader, after);
    after.run(this.#subscriptions);
    return result;
  }

  subscribe<K>(topic: Topic<K>, listener: (keys: ReadonlySet<K>) => void): () => void {
    return this.#subscriptions.add(topic, listener);
  }

  announce<K>(topic: Topic<K>, ...keys: readonly K[]): void {
    this.#subscriptions.announce(topic, keys);
  }

  #run<T>(fn: (transaction: Transaction) => T, reader: SnapshotReader, after: AfterCommit): T {
    try {
      const transaction: Transaction = {
        get: (key) => reader.get(key),
        scan: (range) => reader.scan(range),
        put: (key, value) => {
          checkKey(key);
          this.#writing = put(this.#writing!, key, kept(value), this.#own);
        },
        remove: (key) => {
          checkKey(key);
          const next = remove(this.#writing!, key, this.#own);
          if (next) this.#writing = next;
          return next !== undefined;
        },
        count: (key, by) => countNow(transaction, key, by),
        afterCommit: (callback) => after.call(callback),
        announce: (topic, key) => after.announce(topic, key),
      };
      const result = fn(transaction);
      if (result instanceof Promise)
        throw new Error('a transaction ends when its function returns: it cannot be async');
      this.#now = this.#writing!;
      return result;
    } finally {
      this.#writing = undefined;
      reader.end();
    }
  }

  flushed(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (!this.#manualFlush) {
      this.#durable = this.#now;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Makes everything written so far durable and tells those who wait. */
  completeFlush(): void {
    this.#durable = this.#now;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { resolve } of waiting) resolve();
  }

  /** The disk fails: waiting and later flushes and writes get this error. */
  failFlush(error: BanyanError): void {
    this.#failure = error;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }

  /** The machine crashes: what was not flushed is gone, and nobody who waited is told. */
  crash(): void {
    this.#now = this.#durable;
    this.#waiting = [];
    this.#failure = undefined;
  }

  /** The store as it is, to be put back later: a backup. */
  copy(): MemoryStore {
    const copy = new MemoryStore({ manualFlush: this.#manualFlush });
    copy.#now = this.#now;
    copy.#durable = this.#now;
    return copy;
  }

  backup(): Promise<void> {
    return Promise.reject(new BanyanError('MethodNotAllowed', 'a store in memory has no files to back up'));
  }

  size(): { usedBytes: number; freeBytes: number; diskFreeBytes: number } {
    let usedBytes = 0;
    for (const chunk of this.#now) for (const [key, value] of chunk) usedBytes += key.length + value.length;
    return { usedBytes, freeBytes: 0, diskFreeBytes: Number.POSITIVE_INFINITY };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

class SnapshotReader implements Reader {
  readonly #snapshot: () => MemorySnapshot;
  /** From now on nothing of the snapshot may change: a scan may miss later writes, but not what was there. */
  readonly #hold: () => void;
  #ended = false;

  constructor(snapshot: () => MemorySnapshot, hold = () => {}) {
    this.#snapshot = snapshot;
    this.#hold = hold;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#checkOpen();
    checkKey(key);
    return find(this.#snapshot(), key);
  }

  *scan(range: KeyRange): Generator<[Uint8Array, Uint8Array]> {
    this.#checkOpen();
    this.#hold();
    for (const entry of scan(this.#snapshot(), range)) {
      this.#checkOpen();
      yield entry;
    }
  }

  end(): void {
    this.#ended = true;
  }

  #checkOpen(): void {
    if (this.#ended) throw new Error('a read outside its transaction');
  }
}

/** As Buffer.compare, which takes longer to be called than keys take to differ. */
function compareKeys(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Index of the chunk in which a key is or would be. */
function chunkIndex(snapshot: MemorySnapshot, key: Uint8Array): number {
  // Most stores have one chunk.
  if (snapshot.length === 1) return 0;
  let low = 0;
  let high = snapshot.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(snapshot[middle]!.at(-1)![0], key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** First index in the chunk whose key is >= key. */
function pairIndex(chunk: readonly Pair[], key: Uint8Array): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(chunk[middle]![0], key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function find(snapshot: MemorySnapshot, key: Uint8Array): Uint8Array | undefined {
  const chunk = snapshot[chunkIndex(snapshot, key)];
  const pair = chunk?.[pairIndex(chunk, key)];
  return pair && compareKeys(pair[0], key) === 0 ? Buffer.from(pair[1]) : undefined;
}

/** In memory of its own: a few bytes that are kept of Buffer's pool keep 64 KB of it, which is no garbage then and looks like a heap that grows. */
function kept(bytes: Uint8Array): Uint8Array {
  const own = new Uint8Array(bytes.length);
  own.set(bytes);
  return own;
}

function put(snapshot: MemorySnapshot, key: Uint8Array, value: Uint8Array, own: Own): MemorySnapshot {
  if (snapshot.length === 0) return [[[kept(key), value]]];
  const at = Math.min(chunkIndex(snapshot, key), snapshot.length - 1);
  const i = pairIndex(snapshot[at]!, key);
  const there = snapshot[at]![i];
  const same = there !== undefined && compareKeys(there[0], key) === 0;
  const { chunk, next } = ownChunk(snapshot, at, own);
  if (same) chunk[i] = [there[0], value];
  else chunk.splice(i, 0, [kept(key), value]);
  if (chunk.length <= chunkMax) return next;
  return next.toSpliced(at, 1, chunk.slice(0, chunk.length >> 1), chunk.slice(chunk.length >> 1));
}

/** Undefined: it was not there. */
function remove(snapshot: MemorySnapshot, key: Uint8Array, own: Own): MemorySnapshot | undefined {
  const at = chunkIndex(snapshot, key);
  const there = snapshot[at];
  if (!there) return undefined;
  const i = pairIndex(there, key);
  if (i >= there.length || compareKeys(there[i]![0], key) !== 0) return undefined;
  if (there.length === 1) return snapshot.toSpliced(at, 1);
  const { chunk, next } = ownChunk(snapshot, at, own);
  chunk.splice(i, 1);
  return next;
}

/** A chunk that may be changed in place, and the snapshot with it. */
function ownChunk(snapshot: MemorySnapshot, at: number, own: Own): { chunk: Chunk; next: MemorySnapshot } {
  const there = snapshot[at]!;
  if (own.has(there)) return { chunk: there as Chunk, next: snapshot };
  const chunk = there.slice();
  own.add(chunk);
  return { chunk, next: snapshot.with(at, chunk) };
}

function* scan(snapshot: MemorySnapshot, range: KeyRange): Generator<[Uint8Array, Uint8Array]> {
  let left = range.limit ?? Number.POSITIVE_INFINITY;
  const step = range.reverse ? -1 : 1;
  const first = chunkIndex(snapshot, range.from);
  const last = Math.min(chunkIndex(snapshot, range.to), snapshot.length - 1);
  for (let at = range.reverse ? last : first; at >= first && at <= last; at += step) {
    const chunk = snapshot[at]!;
    // Only the outermost chunks have pairs that are not in the range.
    const begin = at === first ? pairIndex(chunk, range.from) : 0;
    const end = at === last ? pairIndex(chunk, range.to) : chunk.length;
    for (let i = range.reverse ? end - 1 : begin; i >= begin && i < end; i += step) {
      const [key, value] = chunk[i]!;
      if (left-- <= 0) return;
      yield [Buffer.from(key), Buffer.from(value)];
    }
  }
}
