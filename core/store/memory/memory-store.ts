/**
 * The store port in memory, for tests and the simulation. The data is an immutable sorted list of chunks. A snapshot is a reference to one list. A
 * simulated crash goes back to the last flushed list.
 */
import { Buffer } from 'node:buffer';
import { BanyanError } from '../../runtime/errors.ts';
import { checkKey } from '../limits.ts';
import { countNow, type KeyRange, type Reader, type Store, type Transaction } from '../store.ts';
import { AfterCommit, Subscriptions, type Topic } from '../topics.ts';

type Pair = readonly [key: Uint8Array, value: Uint8Array];
type Chunk = Pair[];
/** Sorted chunks of sorted pairs. The running transaction changes a chunk in place only if this transaction has made the chunk. */
type MemorySnapshot = readonly (readonly Pair[])[];
/** The chunks that the running transaction has made and that no reader has seen. */
type OwnChunks = Set<readonly Pair[]>;

/** Maximal number of pairs in a chunk. A write copies one chunk. */
const chunkMax = 512;

export class MemoryStore implements Store {
  #current: MemorySnapshot = [];
  #durable: MemorySnapshot = [];
  #failure: BanyanError | undefined;
  #writing: MemorySnapshot | undefined;
  readonly #ownChunks: OwnChunks = new Set();
  readonly #subscriptions = new Subscriptions();
  #reads = 0;
  readonly #manualFlush: boolean;
  #waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(options: { manualFlush?: boolean } = {}) {
    this.#manualFlush = options.manualFlush ?? false;
  }

  read<T>(fn: (reader: Reader) => T): T {
    const snapshot = this.#writing ?? this.#current;
    this.#ownChunks.clear();
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
    this.#writing = this.#current;
    this.#ownChunks.clear();
    const reader = new SnapshotReader(
      () => this.#writing!,
      () => this.#ownChunks.clear(),
    );
    const after = new AfterCommit();
    const result = this.#run(fn, reader, after);
    after.run(this.#subscriptions);
    return result;
  }

  subscribe<K>(topic: Topic<K>, listener: (keys: ReadonlySet<K>) => void): () => void {
    return this.#subscriptions.add(topic, listener);
  }

  announce<K>(topic: Topic<K>, keys: readonly K[]): void {
    this.#subscriptions.announce(topic, keys);
  }

  #run<T>(fn: (transaction: Transaction) => T, reader: SnapshotReader, after: AfterCommit): T {
    try {
      const transaction: Transaction = {
        get: (key) => reader.get(key),
        scan: (range) => reader.scan(range),
        countKeys: (range) => reader.countKeys(range),
        put: (key, value) => {
          checkKey(key);
          this.#writing = put(this.#writing!, key, copied(value), this.#ownChunks);
        },
        remove: (key) => {
          checkKey(key);
          const next = remove(this.#writing!, key, this.#ownChunks);
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
      this.#current = this.#writing!;
      return result;
    } finally {
      this.#writing = undefined;
      reader.end();
    }
  }

  flushed(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (!this.#manualFlush) {
      this.#durable = this.#current;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Makes all writes so far durable, and resolves the waiting flushes. */
  completeFlush(): void {
    this.#durable = this.#current;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { resolve } of waiting) resolve();
  }

  /** Simulates a failure of the disk: waiting flushes, further flushes and further writes get this error. */
  failFlush(error: BanyanError): void {
    this.#failure = error;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }

  /** Simulates a crash of the machine: unflushed writes are lost, and waiting flushes never settle. */
  crash(): void {
    this.#current = this.#durable;
    this.#waiting = [];
    this.#failure = undefined;
  }

  /** A copy of the present state. A test uses it as a backup. */
  copy(): MemoryStore {
    const copy = new MemoryStore({ manualFlush: this.#manualFlush });
    copy.#current = this.#current;
    copy.#durable = this.#current;
    return copy;
  }

  backup(): Promise<void> {
    return Promise.reject(new BanyanError('MethodNotAllowed', 'a store in memory has no files to back up'));
  }

  size(): { usedBytes: number; freeBytes: number; diskFreeBytes: number } {
    let usedBytes = 0;
    for (const chunk of this.#current) for (const [key, value] of chunk) usedBytes += key.length + value.length;
    return { usedBytes, freeBytes: 0, diskFreeBytes: Number.POSITIVE_INFINITY };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

class SnapshotReader implements Reader {
  readonly #snapshot: () => MemorySnapshot;
  /**
   * Forbids changes of the snapshot in place from now on. So a scan sees every entry that existed when the scan began. The scan may miss entries that are
   * written later.
   */
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

  countKeys(range: Pick<KeyRange, 'from' | 'to'>): number {
    this.#checkOpen();
    let keys = 0;
    for (const _ of scan(this.#snapshot(), range)) keys++;
    return keys;
  }

  end(): void {
    this.#ended = true;
  }

  #checkOpen(): void {
    if (this.#ended) throw new Error('a read outside its transaction');
  }
}

/** Compares like Buffer.compare. This loop is faster, because most keys differ in their first bytes. */
function compareKeys(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Index of the chunk that has the key, or that must get the key. */
function chunkIndex(snapshot: MemorySnapshot, key: Uint8Array): number {
  // Shortcut: most stores have one chunk.
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

/** Index of the first pair in the chunk whose key is not lower than `key`. */
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

/** A copy in its own memory. A few bytes of Buffer's pool would keep the pool of 64 KB in memory, and the heap would seem to grow. */
function copied(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}

function put(snapshot: MemorySnapshot, key: Uint8Array, value: Uint8Array, ownChunks: OwnChunks): MemorySnapshot {
  if (snapshot.length === 0) return [[[copied(key), value]]];
  const at = Math.min(chunkIndex(snapshot, key), snapshot.length - 1);
  const i = pairIndex(snapshot[at]!, key);
  const existing = snapshot[at]![i];
  const same = existing !== undefined && compareKeys(existing[0], key) === 0;
  const { chunk, next } = ownChunk(snapshot, at, ownChunks);
  if (same) chunk[i] = [existing[0], value];
  else chunk.splice(i, 0, [copied(key), value]);
  if (chunk.length <= chunkMax) return next;
  return next.toSpliced(at, 1, chunk.slice(0, chunk.length >> 1), chunk.slice(chunk.length >> 1));
}

/** The snapshot without the key. Undefined if the key did not exist. */
function remove(snapshot: MemorySnapshot, key: Uint8Array, ownChunks: OwnChunks): MemorySnapshot | undefined {
  const at = chunkIndex(snapshot, key);
  const existing = snapshot[at];
  if (!existing) return undefined;
  const i = pairIndex(existing, key);
  if (i >= existing.length || compareKeys(existing[i]![0], key) !== 0) return undefined;
  if (existing.length === 1) return snapshot.toSpliced(at, 1);
  const { chunk, next } = ownChunk(snapshot, at, ownChunks);
  chunk.splice(i, 1);
  return next;
}

/** Makes the chunk one that the transaction may change in place. Returns the chunk, and the snapshot that contains it. */
function ownChunk(snapshot: MemorySnapshot, at: number, ownChunks: OwnChunks): { chunk: Chunk; next: MemorySnapshot } {
  const existing = snapshot[at]!;
  if (ownChunks.has(existing)) return { chunk: existing as Chunk, next: snapshot };
  const chunk = existing.slice();
  ownChunks.add(chunk);
  return { chunk, next: snapshot.with(at, chunk) };
}

function* scan(snapshot: MemorySnapshot, range: KeyRange): Generator<[Uint8Array, Uint8Array]> {
  let remaining = range.limit ?? Number.POSITIVE_INFINITY;
  let skipped = 0;
  const step = range.reverse ? -1 : 1;
  const first = chunkIndex(snapshot, range.from);
  const last = Math.min(chunkIndex(snapshot, range.to), snapshot.length - 1);
  for (let at = range.reverse ? last : first; at >= first && at <= last; at += step) {
    const chunk = snapshot[at]!;
    // Only the first and the last chunk have pairs outside of the range.
    const begin = at === first ? pairIndex(chunk, range.from) : 0;
    const end = at === last ? pairIndex(chunk, range.to) : chunk.length;
    for (let i = range.reverse ? end - 1 : begin; i >= begin && i < end; i += step) {
      if (skipped++ < (range.offset ?? 0)) continue;
      const [key, value] = chunk[i]!;
      if (remaining-- <= 0) return;
      yield [Buffer.from(key), Buffer.from(value)];
    }
  }
}
