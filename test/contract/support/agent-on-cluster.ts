/** An agent in this process before a cluster; the test writes the entries of its parent. */

import { downFeedJudge } from '../../../core/entries/down-check.ts';
import { FeedConsumer } from '../../../core/feed/consumer.ts';
import type { WireEntry } from '../../../core/feed/feed.ts';
import { FeedProducer } from '../../../core/feed/producer.ts';
import { hash128 } from '../../../core/object/hash.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { systemClock } from '../../../core/runtime/clock.ts';
import { silentLogger } from '../../../core/runtime/logger.ts';
import { systemRandom } from '../../../core/runtime/random.ts';
import { asText } from '../../../core/store/bytes.ts';
import { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import { Agent } from '../../../edge-agent/agent/agent.ts';
import type { Cluster } from '../../../edge-agent/cluster/cluster.ts';
import { entry } from '../../unit/edge-agent/support/feed-entries.ts';

const source = 'center.retail';

export class AgentOnCluster {
  readonly #store = new MemoryStore();
  readonly #consumer: FeedConsumer;
  readonly #producer: FeedProducer;
  readonly #agent: Agent;
  #revision = 0;

  constructor(cluster: Cluster) {
    const [consumer, producer] = this.#store.write((t) => [
      FeedConsumer.open(t, { name: 'upstream', judge: downFeedJudge('agent') }),
      FeedProducer.open(t, { name: 'outbox', bootNonce: 'one', random: systemRandom }),
    ]);
    this.#consumer = consumer;
    this.#producer = producer;
    this.#agent = new Agent({
      path: 'eu:paris:store-17',
      version: '0.0.0',
      store: this.#store,
      downstream: consumer.sound,
      quarantine: consumer,
      outbox: producer,
      cluster,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      schedule: setImmediate,
    });
    this.#agent.start();
  }

  /** `key`: `batch/cronjobs/shop/nightly`. */
  send(key: string, object: KubeObject): void {
    const attributes = { uid: 'u', created: 'c', generation: 1, refs: ['shop'] };
    const placement = { generation: 1, target: 1, priority: 0, created: '', uid: '' };
    const entries: WireEntry[] = [
      entry(`t/${source}/shop`, placement, undefined, ++this.#revision),
      entry(`o/${source}/${key}`, attributes, object, ++this.#revision),
    ];
    this.#store.write((t) => this.#agent.received(this.#consumer.applyEntries(t, entries)));
  }

  /** The agent's report about an object. */
  state(key: string): { readonly applied?: boolean; readonly reason?: string; readonly message?: string } {
    return this.#store.read((reader) => {
      const row = this.#producer.get(reader, hash128(`state/${source}/${key}`));
      return row?.content ? JSON.parse(asText(this.#producer.content(reader, row.content).attributes)) : {};
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.stop();
  }
}
