/**
 * A model of one hop: a producer and a consumer on stores that crash, are restored from older copies and are emptied, with the steps of a session between
 * them in the product's order (core/session/runner.ts). Commands are data, so that a counterexample can be read.
 */
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { Batch, ResumeTuple } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { answer, Reconciliation } from '../../../../core/feed/reconcile.ts';
import { dropTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Reader } from '../../../../core/store/store.ts';
import { content } from './feed-support.ts';

const seed = Buffer.alloc(8, 7);

export type Command =
  | { readonly do: 'put'; readonly key: string; readonly body: string }
  | { readonly do: 'remove'; readonly key: string }
  /** The producer's disk has all of its rows. */
  | { readonly do: 'flush' }
  | { readonly do: 'batch'; readonly maxEntries: number }
  /** The consumer's disk has all of its rows, and the consumer acknowledges them. */
  | { readonly do: 'acknowledge' }
  /** All three together: the most frequent case. */
  | { readonly do: 'sync' }
  | { readonly do: 'reconnect' }
  /** One request and its reply, or the end of a reconciliation. */
  | { readonly do: 'reconcile' }
  | { readonly do: 'restartProducer' | 'restartConsumer'; readonly crash: boolean }
  | { readonly do: 'copyProducer' | 'copyConsumer' }
  | { readonly do: 'putBackProducer' | 'putBackConsumer'; readonly copy: number }
  /** The store is lost. */
  | { readonly do: 'emptyProducer' | 'emptyConsumer' }
  /** The child left for good and came again, during one run of the process. */
  | { readonly do: 'dropProducer' };

/** The decisions that a canary replaces. */
export interface Decisions {
  resumable(reader: Reader, producer: FeedProducer, tuple: ResumeTuple): boolean;
  sent(batch: Batch, durableHead: number): Batch;
}

export const asTheProduct: Decisions = {
  resumable: (reader, producer, tuple) => producer.resumable(reader, tuple),
  sent: (batch) => batch,
};

export const keyNames = ['a', 'b', 'c'];
const limits = { maxBytes: 1e6, maxEntries: 100 };

export class Hop {
  readonly #decisions: Decisions;
  /** The writer of the producer's values gives them revisions, and survives the producer. Otherwise all revisions are 0, as in an up feed. */
  readonly #ordered: boolean;
  readonly #origin = new Map<string, { revision: number; body?: string }>();
  #originRevision = 0;
  readonly #random = new SeededRandom(1);
  #producerStore = new MemoryStore({ manualFlush: true });
  #consumerStore = new MemoryStore({ manualFlush: true });
  readonly #producerCopies: MemoryStore[] = [];
  readonly #consumerCopies: MemoryStore[] = [];
  #bootNonce = '';
  #producer!: FeedProducer;
  #consumer!: FeedConsumer;
  #durableHead = 0;
  /** The revision up to which the session has sent batches; undefined without a session or during a reconciliation. */
  #sent: number | undefined;
  #reconciliation: Reconciliation | undefined;

  constructor(decisions: Decisions, ordered: boolean) {
    this.#decisions = decisions;
    this.#ordered = ordered;
    this.#startProducer(this.#producerStore);
    this.#startConsumer(this.#consumerStore);
  }

  run(commands: readonly Command[]): void {
    for (const command of commands) this.#do(command);
  }

  /** Heals the hop: the producer receives everything of its origin, a new session begins and everything is sent. */
  settle(): void {
    this.#learnFromOrigin();
    this.#flush();
    this.#do({ do: 'reconnect' });
    for (let rounds = 0; this.#reconciliation; rounds++) {
      if (rounds > 100) throw new Error('a reconciliation without an end');
      this.#reconcile();
    }
    for (let before = -1; before !== this.#sent; ) {
      before = this.#sent ?? -1;
      this.#batch(limits.maxEntries);
    }
    this.#acknowledge();
  }

  get ends(): {
    producer: { store: MemoryStore; feed: FeedProducer };
    consumer: { store: MemoryStore; feed: FeedConsumer };
  } {
    return {
      producer: { store: this.#producerStore, feed: this.#producer },
      consumer: { store: this.#consumerStore, feed: this.#consumer },
    };
  }

  #do(command: Command): void {
    switch (command.do) {
      case 'put':
        return this.#write(command.key, command.body);
      case 'remove':
        return this.#write(command.key);
      case 'flush':
        return this.#flush();
      case 'batch':
        return this.#batch(command.maxEntries);
      case 'acknowledge':
        return this.#acknowledge();
      case 'sync':
        this.#flush();
        this.#batch(limits.maxEntries);
        return this.#acknowledge();
      case 'reconnect':
        return this.#reconnect();
      case 'reconcile':
        return this.#reconcile();
      case 'restartProducer':
        if (command.crash) this.#producerStore.crash();
        return this.#startProducer(this.#producerStore);
      case 'restartConsumer':
        if (command.crash) this.#consumerStore.crash();
        return this.#startConsumer(this.#consumerStore);
      case 'copyProducer':
        this.#producerCopies.push(this.#producerStore.copy());
        return;
      case 'copyConsumer':
        this.#consumerCopies.push(this.#consumerStore.copy());
        return;
      case 'putBackProducer':
        return this.#putBack(this.#producerCopies, command.copy, (store) => this.#startProducer(store));
      case 'putBackConsumer':
        return this.#putBack(this.#consumerCopies, command.copy, (store) => this.#startConsumer(store));
      case 'emptyProducer':
        return this.#startProducer(new MemoryStore({ manualFlush: true }));
      case 'emptyConsumer':
        return this.#startConsumer(new MemoryStore({ manualFlush: true }));
      case 'dropProducer':
        this.#disconnect();
        this.#producerStore.write((t) => dropTable(t, 'mailbox/kid'));
        return this.#openProducer();
    }
  }

  // ------------------------------------------------------------------------------------------------------ ends

  #write(key: string, body?: string): void {
    const revision = this.#ordered ? ++this.#originRevision : 0;
    this.#origin.set(key, { revision, ...(body === undefined ? {} : { body }) });
    this.#produce(key);
  }

  #produce(key: string): void {
    const { revision, body } = this.#origin.get(key)!;
    this.#producerStore.write((t) => {
      if (body === undefined) this.#producer.remove(t, hash128(key), revision);
      else this.#producer.put(t, content(key, body), revision);
    });
  }

  /** A producer is ready only when it has caught up with the origin of its values. */
  #learnFromOrigin(): void {
    if (this.#ordered) for (const key of this.#origin.keys()) this.#produce(key);
  }

  #flush(): void {
    this.#producerStore.completeFlush();
    this.#durableHead = this.#producerStore.read((reader) => this.#producer.head(reader));
  }

  #startProducer(store: MemoryStore): void {
    this.#producerStore = store;
    this.#bootNonce = Buffer.from(this.#random.bytes(16)).toString('hex');
    this.#openProducer();
  }

  #openProducer(): void {
    this.#disconnect();
    const options = { name: 'mailbox/kid', bootNonce: this.#bootNonce, random: this.#random };
    this.#producer = this.#producerStore.write((t) => FeedProducer.open(t, options));
    this.#flush();
  }

  #startConsumer(store: MemoryStore): void {
    this.#disconnect();
    this.#consumerStore = store;
    this.#consumer = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
  }

  #putBack(copies: readonly MemoryStore[], index: number, start: (store: MemoryStore) => void): void {
    const copy = copies[index % Math.max(1, copies.length)];
    if (copy) start(copy.copy());
  }

  // --------------------------------------------------------------------------------------------------- session

  #disconnect(): void {
    this.#sent = undefined;
    this.#reconciliation = undefined;
  }

  #reconnect(): void {
    this.#disconnect();
    const tuple = this.#consumerStore.read((reader) => this.#consumer.resume(reader));
    if (this.#producerStore.read((reader) => this.#decisions.resumable(reader, this.#producer, tuple))) {
      this.#sent = tuple.cursor;
      return;
    }
    this.#learnFromOrigin();
    this.#reconciliation = this.#consumerStore.read((reader) => new Reconciliation(reader, this.#consumer, seed));
  }

  /** A batch is made of the present rows and sent at once: it contains only revisions up to the durable head. */
  #batch(maxEntries: number): void {
    const after = this.#sent;
    if (after === undefined) return;
    const batch = this.#producerStore.read((reader) =>
      this.#producer.batch(reader, after, this.#durableHead, { ...limits, maxEntries }),
    );
    if (!batch) return;
    this.#consumerStore.write((t) => this.#consumer.apply(t, this.#decisions.sent(batch, this.#durableHead)));
    this.#sent = batch.to;
  }

  #acknowledge(): void {
    if (this.#sent === undefined) return;
    this.#consumerStore.completeFlush();
    const { cursor } = this.#consumerStore.read((reader) => this.#consumer.resume(reader));
    this.#producerStore.write((t) => this.#producer.acknowledge(t, cursor));
  }

  #reconcile(): void {
    const reconciliation = this.#reconciliation;
    if (!reconciliation) return;
    const request = reconciliation.next();
    if (!request) {
      this.#consumerStore.write((t) => reconciliation.finish(t));
      this.#reconciliation = undefined;
      this.#sent = this.#consumerStore.read((reader) => this.#consumer.resume(reader).cursor);
      return;
    }
    this.#flush();
    const reply = this.#producerStore.read((reader) =>
      answer(reader, this.#producer, request, this.#durableHead, { maxBytes: 64 * 1024 }),
    );
    this.#consumerStore.write((t) => reconciliation.absorb(t, reply));
  }
}
