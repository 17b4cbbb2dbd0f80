/**
 * A disk that can lose data that was not flushed. Every commit is a snapshot. A crash leaves the durable snapshot or any newer one, because commits reach the
 * disk in the order of their writes, and each as a whole. The store on the disk is the product's memory store. The process may end at each effect.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Random } from '../../core/runtime/random.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import { countNow, type Reader, type Store, type Transaction } from '../../core/store/store.ts';
import type { Topic } from '../../core/store/topics.ts';
import type { SimProcess } from './sim-process.ts';

/** Longest flush on an ordinary disk (`flushMaxMs`) and on a slow one. A share of the disks is slow. */
const flushMaxMs = 12;
const slowFlushMaxMs = 250;
const slowShare = 0.25;
/** After this time, a commit is on the disk even if nobody waits for it. */
const writeBackMs = 150;

export class Disk {
  #durable = new MemoryStore();
  /** Commits that are newer than `#durable`, the oldest first. */
  #volatile: MemoryStore[] = [];
  /** True: flushes and writes fail. */
  isFull = false;
  /** Shortest flush. */
  flushMinMs = 0;

  /** The state that a power failure at this moment would leave. */
  get durable(): MemoryStore {
    return this.#durable;
  }

  get unflushed(): number {
    return this.#volatile.length;
  }

  committed(snapshot: MemoryStore): void {
    this.#volatile.push(snapshot);
  }

  /** Called when everything up to a snapshot is durable. */
  reached(snapshot: MemoryStore): void {
    const at = this.#volatile.indexOf(snapshot);
    if (at < 0) return;
    this.#durable = snapshot;
    this.#volatile = this.#volatile.slice(at + 1);
  }

  get newest(): MemoryStore {
    return this.#volatile.at(-1) ?? this.#durable;
  }

  /** Called when the process has ended. `survives` in [0, 1] is the share of the unflushed commits that is on the disk. */
  crash(survives: number): void {
    const kept = Math.round(survives * this.#volatile.length);
    if (kept > 0) this.#durable = this.#volatile[kept - 1]!;
    this.#volatile = [];
  }

  copy(): Disk {
    const copy = new Disk();
    copy.#durable = this.newest.copy();
    return copy;
  }

  /** Replaces the state by that of an earlier copy. Undefined: the disk becomes empty. */
  replace(by: Disk | undefined): void {
    this.#durable = by ? by.newest.copy() : new MemoryStore();
    this.#volatile = [];
  }
}

export interface Change {
  readonly key: Buffer;
  /** Absent: the row was removed. */
  readonly value?: Buffer;
}

export interface SimStorePorts {
  readonly disk: Disk;
  readonly simProcess: SimProcess;
  readonly clock: Clock;
  readonly random: Random;
  /** Called immediately after a commit, before any other code knows about the commit. `before` is the state at the beginning of the transaction. */
  committed(changes: readonly Change[], before: MemoryStore): void;
  /** How the store lies, for a canary: see canaries/. */
  readonly storeFaults?: StoreFaults | undefined;
}

export interface StoreFaults {
  /** True: the store reports each flush as done at once. */
  readonly flushesAtOnce?: boolean;
  get?(key: Uint8Array, found: Uint8Array | undefined): Uint8Array | undefined;
}

export class SimStore implements Store {
  readonly #ports: SimStorePorts;
  readonly #memory: MemoryStore;
  #flushing: { readonly snapshot: MemoryStore; readonly done: Promise<void> } | undefined;
  #writesBack = false;
  readonly #flushMaxMs: number;

  constructor(ports: SimStorePorts) {
    this.#ports = ports;
    this.#memory = ports.disk.newest.copy();
    this.#flushMaxMs = ports.random.fraction() < slowShare ? slowFlushMaxMs : flushMaxMs;
  }

  read<T>(fn: (reader: Reader) => T): T {
    return this.#memory.read(fn);
  }

  write<T>(fn: (transaction: Transaction) => T): T {
    const { simProcess, disk, committed } = this.#ports;
    simProcess.effect();
    if (disk.isFull) throw diskFull();
    const before = disk.newest;
    const changes: Change[] = [];
    const result = this.#memory.write((t) => {
      t.afterCommit(() => {
        if (changes.length === 0) return;
        disk.committed(this.#memory.copy());
        this.#writeBack();
        committed(changes, before);
        simProcess.effect();
      });
      return fn(this.#recorded(t, changes));
    });
    return result;
  }

  subscribe<K>(topic: Topic<K>, listener: (keys: ReadonlySet<K>) => void): () => void {
    return this.#memory.subscribe(topic, listener);
  }

  announce<K>(topic: Topic<K>, keys: readonly K[]): void {
    this.#memory.announce(topic, keys);
  }

  flushed(): Promise<void> {
    const { simProcess, disk, clock, random, storeFaults } = this.#ports;
    if (!simProcess.alive) return new Promise(() => {});
    simProcess.effect();
    if (disk.isFull) return Promise.reject(diskFull());
    if (storeFaults?.flushesAtOnce || disk.unflushed === 0) return Promise.resolve();
    const snapshot = disk.newest;
    if (this.#flushing?.snapshot === snapshot) return this.#flushing.done;
    const done = new Promise<void>((resolve, reject) => {
      clock.after(Math.max(disk.flushMinMs, random.fraction() * this.#flushMaxMs), () => {
        this.#flushing = undefined;
        if (disk.isFull) {
          reject(diskFull());
          return;
        }
        disk.reached(snapshot);
        simProcess.effect();
        resolve();
      });
    });
    this.#flushing = { snapshot, done };
    return done;
  }

  backup(): Promise<void> {
    return this.#memory.backup();
  }

  size(): { usedBytes: number; freeBytes: number; diskFreeBytes: number } {
    return { usedBytes: 0, freeBytes: 0, diskFreeBytes: Number.POSITIVE_INFINITY };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flushed();
  }

  #recorded(t: Transaction, changes: Change[]): Transaction {
    const { storeFaults } = this.#ports;
    const recorded: Transaction = {
      get: (key) => (storeFaults?.get ? storeFaults.get(key, t.get(key)) : t.get(key)),
      scan: (range) => t.scan(range),
      countKeys: (range) => t.countKeys(range),
      put: (key, value) => {
        t.put(key, value);
        changes.push({ key: Buffer.from(key), value: Buffer.from(value) });
      },
      remove: (key) => {
        const found = t.remove(key);
        if (found) changes.push({ key: Buffer.from(key) });
        return found;
      },
      count: (key, by) => countNow(recorded, key, by),
      afterCommit: (callback) => t.afterCommit(callback),
      announce: (topic, key) => t.announce(topic, key),
    };
    return recorded;
  }

  #writeBack(): void {
    if (this.#writesBack) return;
    this.#writesBack = true;
    const { disk, clock } = this.#ports;
    clock.after(writeBackMs, () => {
      this.#writesBack = false;
      if (!disk.isFull) disk.reached(disk.newest);
    });
  }
}

function diskFull(): BanyanError {
  return new BanyanError('StoreFull', 'no space is left on the simulated disk');
}
