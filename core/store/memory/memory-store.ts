/**
 * The store port in memory, for tests and the simulation: an immutable sorted list of chunks, so that a snapshot is a
 * reference and a crash is going back to the last flushed one.
 */
import { Buffer } from 'node:buffer';
import { BanyanError } from '../../runtime/errors.ts';
import { checkKey } from '../limits.ts';
import type { Range, Reader, Store, Transaction } from '../store.ts';

type Pair = readonly [key: Buffer, value: Buffer];
/** Sorted chunks of sorted pairs; never changed in place. */
type Snapshot = readonly (readonly Pair[])[];

/** Copying one chunk is what a write costs. */
const chunkMax = 512;

export class MemoryStore implements Store {
  #now: Snapshot = [];
  #durable: Snapshot = [];
  #failure: BanyanError | undefined;
  #writing: Snapshot | undefined;
  #reads = 0;
  readonly #manualFlush: boolean;
  #waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(options: { manualFlush?: boolean } = {}) {
    this.#manualFlush = options.manualFlush ?? false;
  }

  read<T>(fn: (reader: Reader) => T): T {
    const snapshot = this.#writing ?? this.#now;
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
    const reader = new SnapshotReader(() => this.#writing!);
    const callbacks: (() => void)[] = [];
    const result = this.#run(fn, reader, callbacks);
    for (const callback of callbacks) callback();
    return result;
  }

  #run<T>(fn: (transaction: Transaction) => T, reader: SnapshotReader, callbacks: (() => void)[]): T {
    try {
      const result = fn({
        get: (key) => reader.get(key),
        scan: (range) => reader.scan(range),
        put: (key, value) => {
          checkKey(key);
          this.#writing = put(this.#writing!, Buffer.from(key), Buffer.from(value));
        },
        remove: (key) => {
          checkKey(key);
          const next = remove(this.#writing!, key);
          const found = next !== this.#writing;
          this.#writing = next;
          return found;
        },
        afterCommit: (callback) => {
          callbacks.push(callback);
        },
      });
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
  readonly #snapshot: () => Snapshot;
  #ended = false;

  constructor(snapshot: () => Snapshot) {
    this.#snapshot = snapshot;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#checkOpen();
    checkKey(key);
    return find(this.#snapshot(), key);
  }

  *scan(range: Range): Generator<[Uint8Array, Uint8Array]> {
    this.#checkOpen();
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
function chunkIndex(snapshot: Snapshot, key: Uint8Array): number {
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

function find(snapshot: Snapshot, key: Uint8Array): Uint8Array | undefined {
  const chunk = snapshot[chunkIndex(snapshot, key)];
  const pair = chunk?.[pairIndex(chunk, key)];
  return pair && compareKeys(pair[0], key) === 0 ? Buffer.from(pair[1]) : undefined;
}

function put(snapshot: Snapshot, key: Buffer, value: Buffer): Snapshot {
  const at = Math.min(chunkIndex(snapshot, key), Math.max(0, snapshot.length - 1));
  const chunk = snapshot[at] ?? [];
  const i = pairIndex(chunk, key);
  const same = i < chunk.length && compareKeys(chunk[i]![0], key) === 0;
  const next = same ? chunk.with(i, [key, value]) : chunk.toSpliced(i, 0, [key, value]);
  if (snapshot.length === 0) return [next];
  if (next.length <= chunkMax) return snapshot.with(at, next);
  return snapshot.toSpliced(at, 1, next.slice(0, next.length >> 1), next.slice(next.length >> 1));
}

function remove(snapshot: Snapshot, key: Uint8Array): Snapshot {
  const at = chunkIndex(snapshot, key);
  const chunk = snapshot[at];
  if (!chunk) return snapshot;
  const i = pairIndex(chunk, key);
  if (i >= chunk.length || compareKeys(chunk[i]![0], key) !== 0) return snapshot;
  return chunk.length > 1 ? snapshot.with(at, chunk.toSpliced(i, 1)) : snapshot.toSpliced(at, 1);
}

function* scan(snapshot: Snapshot, range: Range): Generator<[Uint8Array, Uint8Array]> {
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
