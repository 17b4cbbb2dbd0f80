/**
 * A store whose values are sealed on the way in and opened on the way out, by the rules of sealed-values.ts. Everything above this store sees clear values.
 * So keys, hashes and what nodes send each other do not change.
 */
import type { KeyRange, Reader, Store, Transaction } from '../store/store.ts';
import type { Topic } from '../store/topics.ts';
import type { SealedValues } from './sealed-values.ts';
import type { Sealer } from './sealer.ts';

export class SealedStore implements Store {
  readonly #inner: Store;
  readonly #sealer: Sealer;
  readonly #values: SealedValues;

  constructor(inner: Store, sealer: Sealer, values: SealedValues) {
    this.#inner = inner;
    this.#sealer = sealer;
    this.#values = values;
  }

  read<T>(fn: (reader: Reader) => T): T {
    return this.#inner.read((reader) => fn(this.#reader(reader)));
  }

  write<T>(fn: (transaction: Transaction) => T): T {
    return this.#inner.write((t) => fn(this.#transaction(t)));
  }

  subscribe<K>(topic: Topic<K>, listener: (keys: ReadonlySet<K>) => void): () => void {
    return this.#inner.subscribe(topic, listener);
  }

  announce<K>(topic: Topic<K>, keys: readonly K[]): void {
    this.#inner.announce(topic, keys);
  }

  flushed(): Promise<void> {
    return this.#inner.flushed();
  }

  /** The copy is sealed as this store is. */
  backup(directory: string): Promise<void> {
    return this.#inner.backup(directory);
  }

  size(): { usedBytes: number; freeBytes: number; diskFreeBytes: number } {
    return this.#inner.size();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]();
  }

  #reader(reader: Reader): Reader {
    return {
      get: (key) => this.#get(reader, key),
      scan: (range) => this.#scan(reader, range),
      countKeys: (range) => reader.countKeys(range),
    };
  }

  #transaction(t: Transaction): Transaction {
    return {
      get: (key) => this.#get(t, key),
      scan: (range) => this.#scan(t, range),
      countKeys: (range) => t.countKeys(range),
      put: (key, value) => t.put(key, this.#values.isSealed(key, value) ? this.#sealer.seal(key, value) : value),
      remove: (key) => t.remove(key),
      // No counter is a content.
      count: (key, by) => t.count(key, by),
      afterCommit: (callback) => t.afterCommit(callback),
      announce: (topic, key) => t.announce(topic, key),
    };
  }

  #get(reader: Reader, key: Uint8Array): Uint8Array | undefined {
    const value = reader.get(key);
    return value && this.#values.mayBe(key) ? this.#sealer.open(key, value) : value;
  }

  /** Ranges without sealed values, such as rows of tables, are read without a step of this store for each row. */
  #scan(reader: Reader, range: KeyRange): Iterable<[Uint8Array, Uint8Array]> {
    return this.#values.mayBeIn(range) ? this.#opened(reader, range) : reader.scan(range);
  }

  *#opened(reader: Reader, range: KeyRange): Generator<[Uint8Array, Uint8Array]> {
    for (const [key, value] of reader.scan(range))
      yield [key, this.#values.mayBe(key) ? this.#sealer.open(key, value) : value];
  }
}
