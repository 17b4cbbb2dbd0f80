/** One producer and one consumer on memory stores, with short helpers for the tests of this folder. */
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { Batch, BatchLimits, Content, WireEntry } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { decodeRow, type TableRows, tableRange } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { prefixRange } from '../../../../core/store/bytes.ts';
import { prefixOf } from '../../../../core/store/keyspace.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Store } from '../../../../core/store/store.ts';

export const unlimited: BatchLimits = { maxBytes: 1e9, maxEntries: 1e9 };

export function content(key: string, body: string): Content {
  return { key, attributes: Buffer.from('{}'), body: Buffer.from(body) };
}

export class ProducerEnd {
  readonly random: SeededRandom;
  store: MemoryStore;
  feed: FeedProducer;

  constructor(store = new MemoryStore(), seed = 1) {
    this.random = new SeededRandom(seed);
    this.store = store;
    this.feed = this.open();
  }

  /** A start of the process, on the present store or on another one. */
  restart(store = this.store): this {
    this.store = store;
    this.feed = this.open();
    return this;
  }

  open(bootNonce = Buffer.from(this.random.bytes(16)).toString('hex')): FeedProducer {
    return this.store.write((t) => FeedProducer.open(t, { name: 'mailbox/kid', bootNonce, random: this.random }));
  }

  put(key: string, body: string, originRevision = 0): boolean {
    return this.store.write((t) => this.feed.put(t, content(key, body), originRevision));
  }

  remove(key: string, originRevision = 0): boolean {
    return this.store.write((t) => this.feed.remove(t, hash128(key), originRevision));
  }

  batch(after: number, limits: Partial<BatchLimits> = {}, durableHead = this.head): Batch | undefined {
    return this.store.read((reader) => this.feed.batch(reader, after, durableHead, { ...unlimited, ...limits }));
  }

  acknowledge(cursor: number): void {
    this.store.write((t) => this.feed.acknowledge(t, cursor));
  }

  get head(): number {
    return this.store.read((reader) => this.feed.head(reader));
  }

  get purgeRevision(): number {
    return this.store.read((reader) => this.feed.purgeRevision(reader));
  }
}

export class ConsumerEnd {
  store: MemoryStore;
  feed: FeedConsumer;

  constructor(store = new MemoryStore()) {
    this.store = store;
    this.feed = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
  }

  apply(batch: Batch) {
    return this.store.write((t) => this.feed.apply(t, batch));
  }

  get tuple() {
    return this.store.read((reader) => this.feed.resume(reader));
  }
}

/** Sends everything that remains, batch by batch, and acknowledges it. */
export function sync(producer: ProducerEnd, consumer: ConsumerEnd): void {
  for (let batch = producer.batch(consumer.tuple.cursor); batch; batch = producer.batch(consumer.tuple.cursor)) {
    consumer.apply(batch);
  }
  producer.acknowledge(consumer.tuple.cursor);
}

export function resumes(producer: ProducerEnd, tuple: ConsumerEnd['tuple']): boolean {
  return producer.store.read((reader) => producer.feed.resumable(reader, tuple));
}

/** Key and body of each live row. */
export function held({ store, feed }: { store: Store; feed: TableRows }): Record<string, string> {
  return store.read((reader) =>
    Object.fromEntries(
      [...feed.rows(reader)].map((row) => {
        const { key, body } = feed.content(reader, row.content!);
        return [key, Buffer.from(body).toString()];
      }),
    ),
  );
}

/** Contents in a store, whichever table names them. */
/** Kept rows of removed keys. */
export function tombstonesOf({ store, feed }: { store: Store; feed: TableRows }): number {
  return store.read((reader) => {
    const rows = [...reader.scan(tableRange(feed.id))].map(([key, value]) => decodeRow(key, value));
    return rows.filter((row) => !row.content).length;
  });
}

export function storedContents(store: Store): number {
  return store.read((reader) => [...reader.scan(prefixRange(prefixOf('content')))].length);
}

/** `a=1@3` for a value at revision 3, `-a@4` for its tombstone. The caller passes the keys, because a tombstone has only a hash. */
export function shown(entries: readonly WireEntry[], keys: readonly string[]): string[] {
  return entries.map(({ keyHash, revision, content: value }) => {
    const key = keys.find((one) => Buffer.compare(hash128(one), keyHash) === 0);
    return value ? `${key}=${Buffer.from(value.body)}@${revision}` : `-${key}@${revision}`;
  });
}
