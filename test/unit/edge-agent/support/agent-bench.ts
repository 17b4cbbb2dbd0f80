/** An agent on a fake cluster and a memory store, with a virtual clock. `restart` is a new process on the same store. */

import type { ReportRules } from '../../../../core/entries/down-attributes.ts';
import { downFeedJudge } from '../../../../core/entries/down-check.ts';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { WireEntry } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import type { Acceptance } from '../../../../core/match/acceptance.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { decodePartial, type Failure } from '../../../../core/summary/partial.ts';
import { Agent } from '../../../../edge-agent/agent/agent.ts';
import { FakeCluster } from './fake-cluster.ts';
import { entry, tombstone } from './feed-entries.ts';

export const path = 'eu:paris:store-17';

export class AgentBench<C extends FakeCluster = FakeCluster> {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore();
  readonly cluster: C;
  consumer!: FeedConsumer;
  producer!: FeedProducer;
  agent: Agent;
  /** The next process may know less than was applied. */
  isHeldBack = false;
  /** `accept` of the next process. */
  accept: Acceptance | undefined;
  #revision = 10;
  #boots = 0;

  constructor(cluster: C = new FakeCluster() as C) {
    this.cluster = cluster;
    this.agent = this.#make();
  }

  async start(): Promise<this> {
    this.agent.start();
    await this.settle();
    return this;
  }

  async restart(): Promise<void> {
    await this.agent.stop();
    this.agent = this.#make();
    await this.start();
  }

  /** A new process beside a cluster that answers only when the test calls the returned function. */
  async restartHanging(): Promise<() => void> {
    await this.agent.stop();
    let release = () => {};
    this.cluster.gate = new Promise((resolve) => {
      release = resolve;
    });
    this.agent = this.#make();
    this.agent.start();
    await new Promise((resolve) => setImmediate(resolve));
    this.clock.advance(1_000);
    return release;
  }

  /** A new process after one that ended in the middle of its work; waits long enough for all of its work. */
  async crash(): Promise<void> {
    void this.agent.stop();
    this.agent = this.#make();
    this.agent.start();
    for (let round = 0; round < 40; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      this.clock.advance(100);
    }
  }

  /** A batch of the down feed. */
  async receive(...make: ((revision: number) => WireEntry)[]): Promise<void> {
    this.store.write((t) => this.agent.received(this.#applied(t, make)));
    await this.settle();
  }

  /** The same, while no agent runs. */
  receiveWhileStopped(...make: ((revision: number) => WireEntry)[]): void {
    this.store.write((t) => this.#applied(t, make));
  }

  #applied(t: Transaction, make: ((revision: number) => WireEntry)[]) {
    return this.consumer.applyEntries(
      t,
      make.map((one) => one(++this.#revision)),
    );
  }

  /** Writes to the up feed so far. */
  reports(): number {
    return this.store.read((reader) => this.producer.head(reader));
  }

  /** Attributes and body of a key in the up feed. */
  reported(key: string): { attributes: Record<string, unknown>; body: Record<string, unknown> } | undefined {
    return this.store.read((reader) => {
      const row = this.producer.get(reader, hash128(key));
      const content = row?.content && this.producer.content(reader, row.content);
      return content && { attributes: json(content.attributes), body: json(content.body) };
    });
  }

  /** Runs everything that needs no more time than the outbox takes to gather. */
  async settle(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      await this.agent.settled();
    }
    this.clock.advance(20);
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.settle();
  }

  counts(id: string): Record<string, number> | undefined {
    const partial = this.reported(`partial/${id}`);
    if (!partial) return undefined;
    const { counts } = decodePartial(Buffer.from(JSON.stringify(partial.body)));
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
  }

  failures(id: string): readonly Failure[] {
    const partial = this.reported(`partial/${id}`);
    return partial ? decodePartial(Buffer.from(JSON.stringify(partial.body))).failures : [];
  }

  object(key: string, object: KubeObject, refs: string[], source = 'center.retail', more: object = {}) {
    const attributes = { uid: 'u', created: 'c', generation: 1, refs, ...more };
    return (revision: number) => entry(`o/${source}/${key}`, attributes, object, revision);
  }

  target(id: string, target = 1, more: object = {}) {
    const attributes = { generation: 1, target, priority: 0, created: '', uid: '', ...more };
    return (revision: number) => entry(`t/${id}`, attributes, undefined, revision);
  }

  /** The parent's question whether all objects of a withdrawn placement are gone. */
  withdrawn(id: string, asked: number) {
    return (revision: number) => entry(`w/${id}`, { asked }, undefined, revision);
  }

  rules(id: string, rules: Partial<ReportRules>) {
    const body = text(JSON.stringify({ associated: [], upsync: [], ...rules }));
    return (revision: number): WireEntry => {
      const row = entry(`u/${id}`, {}, undefined, revision);
      return { ...row, content: { ...row.content!, body } };
    };
  }

  /** Keys of the up feed with this beginning, sorted. */
  reportedKeys(prefix: string): string[] {
    return this.store.read((reader) =>
      [...this.producer.rows(reader)]
        .map((row) => this.producer.content(reader, row.content!).key)
        .filter((key) => key.startsWith(prefix))
        .sort(),
    );
  }

  gone(key: string) {
    return (revision: number) => tombstone(key, revision);
  }

  #make(): Agent {
    const bootNonce = `boot-${++this.#boots}`;
    const random = new SeededRandom(this.#boots);
    this.store.write((t) => {
      this.consumer = FeedConsumer.open(t, { name: 'upstream', judge: downFeedJudge('agent') });
      this.producer = FeedProducer.open(t, { name: 'outbox', bootNonce, random });
    });
    return new Agent({
      path,
      version: '0.0.0',
      store: this.store,
      downstream: this.consumer.sound,
      quarantine: this.consumer,
      outbox: this.producer,
      cluster: this.cluster,
      clock: this.clock,
      random,
      logger: silentLogger,
      schedule: setImmediate,
      isHeldBack: this.isHeldBack,
      accept: this.accept,
    });
  }
}

function json(bytes: Uint8Array): Record<string, unknown> {
  return bytes.length === 0 ? {} : (JSON.parse(asText(bytes)) as Record<string, unknown>);
}

export function namespace(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

export function configMap(name: string, data: Record<string, string> = { a: '1' }): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data };
}

export function deployment(name: string, replicas = 2): KubeObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'shop' }, spec: { replicas } };
}

export function definition(): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'boards.shop.example.com' },
    spec: { group: 'shop.example.com', names: { kind: 'Board', plural: 'boards' } },
    status: { conditions: [{ type: 'Established', status: 'True' }] },
  };
}

export function board(name: string): KubeObject {
  return { apiVersion: 'shop.example.com/v1', kind: 'Board', metadata: { name, namespace: 'shop' }, spec: {} };
}
