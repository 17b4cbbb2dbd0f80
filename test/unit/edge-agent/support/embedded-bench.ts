/** An agent with an embedded cluster on one store, the real API server's space between them, and a virtual clock. */
import type { Space } from '../../../../core/apiserver/space.ts';
import type { SparseApplyRules } from '../../../../core/entries/apply-rules.ts';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { WireEntry } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import type { Acceptance } from '../../../../core/match/acceptance.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { health } from '../../../../core/object/health.ts';
import { formatKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { decodePartial, type Failure, type Partial } from '../../../../core/summary/partial.ts';
import { Agent } from '../../../../edge-agent/agent/agent.ts';
import type { Cluster } from '../../../../edge-agent/cluster/cluster.ts';
import { assembleCluster } from '../../../../edge-agent/cluster/embedded/assemble.ts';
import { defaultPace } from '../../../../edge-agent/cluster/embedded/controllers/pace.ts';
import { entry, tombstone } from './feed-entries.ts';

const placement = 'center.retail/all';

export class EmbeddedBench {
  readonly clock = new VirtualClock(Date.UTC(2024, 5, 1, 12, 0, 30));
  readonly store = new MemoryStore();
  readonly random = new SeededRandom(5);
  readonly space: Space;
  readonly cluster: Cluster;
  readonly consumer: FeedConsumer;
  readonly producer: FeedProducer;
  agent: Agent;
  /** `accept` of the next process. */
  accept: Acceptance | undefined;
  readonly #rules: SparseApplyRules;
  #revision = 0;

  /** With the rules of the single placement. */
  constructor(rules: SparseApplyRules = {}) {
    this.#rules = rules;
    const { clock, random, store } = this;
    const logger = silentLogger;
    const schedule = (turn: () => void) => void clock.after(0, turn);
    const assembled = assembleCluster({
      ...{ store, clock, random, logger, schedule },
      pace: defaultPace,
      path: 'shop',
      fromAbove: 'grants',
    });
    this.space = assembled.space;
    this.cluster = assembled.cluster;
    this.consumer = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
    this.producer = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'boot', random }));
    this.agent = this.#make();
  }

  #make(): Agent {
    return new Agent({
      schedule: setImmediate,
      path: 'eu:store-1',
      version: '0',
      store: this.store,
      downstream: this.consumer,
      outbox: this.producer,
      cluster: this.cluster,
      clock: this.clock,
      random: this.random,
      logger: silentLogger,
      accept: this.accept,
    });
  }

  /** No agent runs while `meanwhile` does. The cluster goes on. */
  async restart(meanwhile: () => Promise<void> = async () => {}): Promise<void> {
    await this.agent.stop();
    await meanwhile();
    this.agent = this.#make();
    await this.start();
  }

  async start(): Promise<this> {
    this.agent.start();
    await this.pass(100);
    return this;
  }

  /** Delivers the objects, all wanted by one placement. `more`: attributes of their rows. */
  async place(objects: readonly KubeObject[], more: object = {}): Promise<void> {
    const revision = ++this.#revision;
    const rows = objects.map((object) => {
      const attributes = { uid: 'u', created: 'c', generation: 1, refs: ['all'], ...more };
      return entry(`o/center.retail/${this.keyOf(object)}`, attributes, object, revision);
    });
    this.#receive(rows, revision);
    await this.pass(0);
  }

  async remove(objects: readonly KubeObject[]): Promise<void> {
    const revision = ++this.#revision;
    this.#receive(
      objects.map((object) => tombstone(`o/center.retail/${this.keyOf(object)}`, revision)),
      revision,
    );
    await this.pass(0);
  }

  /** Advances time, with turns of the event loop in between. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed <= ms; passed += 50) {
      this.clock.advance(Math.min(50, ms));
      await new Promise((resolve) => setImmediate(resolve));
      await this.agent.settled();
    }
  }

  live(object: KubeObject): KubeObject | undefined {
    const [group = '', resource = '', namespace = '', name = ''] = this.keyOf(object).split('/');
    return this.space.kinds.byResource({ group, resource }) && this.space.get({ group, resource, namespace, name });
  }

  /** Objects that are missing or not current, with the reason. */
  unhealthy(objects: readonly KubeObject[]): string[] {
    return objects.flatMap((object) => {
      const live = this.live(object);
      const title = `${object.kind} ${object.metadata.name}`;
      if (!live) return [`${title}: missing`];
      const { state, reason, message } = health(live);
      return state === 'Current' ? [] : [`${title}: ${state} ${reason} ${message}`];
    });
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = { ...this.#partial()?.counts };
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
  }

  failures(): readonly Failure[] {
    return this.#partial()?.failures ?? [];
  }

  /** Writes to the up feed so far. */
  reports(): number {
    return this.store.read((reader) => this.producer.head(reader));
  }

  /** The reported status of the object. */
  status(object: KubeObject): unknown {
    const body = this.store.read((reader) => {
      const row = this.producer.get(reader, hash128(`state/center.retail/${this.keyOf(object)}`));
      return row?.content && this.producer.content(reader, row.content).body;
    });
    return body && body.length > 0 ? JSON.parse(asText(body)) : undefined;
  }

  /** The report about the object besides that it is applied: `Drifted: spec.replicas is …`; empty: none. */
  reported(object: KubeObject): string {
    const attributes = this.store.read((reader) => {
      const row = this.producer.get(reader, hash128(`state/center.retail/${this.keyOf(object)}`));
      return row?.content && this.producer.content(reader, row.content).attributes;
    });
    const { reason, message } = JSON.parse(attributes ? asText(attributes) : '{}') as Record<string, string>;
    return reason === undefined ? '' : `${reason}: ${message}`;
  }

  pods(app: string): KubeObject[] {
    const stored = this.space.storage.scan({ group: '', resource: 'pods' });
    return stored.map((one) => this.space.parse(one)).filter((pod) => pod.metadata.labels?.app === app);
  }

  /** Pods of the app that are ready. */
  ready(app: string): number {
    return this.pods(app).filter((pod) => health(pod).state === 'Current').length;
  }

  /** Keys of all objects on the cluster. */
  everything(): string[] {
    const { storage } = this.space;
    return storage.resources().flatMap((resource) => storage.scan(resource).map(({ key }) => formatKey(key)));
  }

  /** Custom kinds are named by their plural, because the cluster may not have their definition yet. */
  keyOf(object: KubeObject): string {
    if (object.kind !== 'Beacon') return formatKey(this.space.keyOf(object));
    return `light.example.org/beacons/${object.metadata.namespace}/${object.metadata.name}`;
  }

  #partial(): Partial | undefined {
    const body = this.store.read((reader) => {
      const row = this.producer.get(reader, hash128(`partial/${placement}`));
      return row?.content && this.producer.content(reader, row.content).body;
    });
    return body && decodePartial(body);
  }

  #receive(rows: WireEntry[], revision: number): void {
    const target = {
      generation: 1,
      target: revision,

      priority: 0,
      created: '',
      uid: '',
      apply: this.#rules,
    };
    rows.push(entry(`t/${placement}`, target, undefined, revision));
    const changes = this.store.write((t) => this.consumer.applyEntries(t, rows));
    this.agent.received(changes);
  }
}
