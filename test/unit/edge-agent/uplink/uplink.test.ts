import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { beginBoot } from '../../../../core/session/node-identity.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { decodePartial } from '../../../../core/summary/partial.ts';
import { memoryDialer } from '../../../../core/wire/memory/memory-link.ts';
import { Agent } from '../../../../edge-agent/agent/agent.ts';
import { Uplink } from '../../../../edge-agent/uplink/uplink.ts';
import { SessionPair } from '../../../support/session-pair.ts';
import { configMap, namespace } from '../support/agent-bench.ts';
import { FakeCluster } from '../support/fake-cluster.ts';

const path = 'eu:kid';
const till = '/configmaps/shop/till';

/** A parent, and an agent that dials it over a memory link. */
class Tree {
  readonly pair = new SessionPair();
  readonly cluster = new FakeCluster();
  store = new MemoryStore();
  #boots = 0;
  #revision = 1;
  agent!: Agent;
  uplink!: Uplink;

  startAgent(): void {
    const { clock } = this.pair;
    const random = new SeededRandom(50 + ++this.#boots);
    const { identity, downstream, outbox } = this.store.write((t) => {
      const boot = beginBoot(t, clock, random);
      const { bootNonce } = boot;
      return {
        identity: boot,
        downstream: FeedConsumer.open(t, { name: 'upstream' }),
        outbox: FeedProducer.open(t, { name: 'outbox', bootNonce, random }),
      };
    });
    const network = { clock, delayMs: 1, isCut: () => this.pair.cut, passes: () => true };
    const dialer = memoryDialer(network, { path, role: 'agent' }, { path: 'eu', role: 'relay' }, (link) =>
      this.pair.parent.sessions.accept(link),
    );
    const shared = { path, store: this.store, downstream, outbox, clock, random, logger: silentLogger };
    const agent: Agent = new Agent({
      ...shared,
      version: '1',
      schedule: setImmediate,
      cluster: this.cluster,
    });
    const received = (changes: Parameters<Agent['received']>[0]) => agent.received(changes);
    const uplink: Uplink = new Uplink({ ...shared, software: '1', identity, dialer, received });
    this.agent = agent;
    this.uplink = uplink;
    agent.start();
    uplink.start();
  }

  async stopAgent(): Promise<void> {
    this.uplink.close();
    await this.agent.stop();
  }

  /** The parent's mailbox gets the objects and then the target that covers them. */
  deliver(...objects: [key: string, object: KubeObject][]): void {
    const { store, producer } = this.pair.parent;
    const revision = ++this.#revision;
    store.write((t) => {
      for (const [key, object] of objects) {
        const attributes = text(JSON.stringify({ uid: 'u', created: 'c', generation: 1, refs: ['a'] }));
        producer.put(t, { key: `o/center.retail/${key}`, attributes, body: canonicalBytes(object) }, revision);
      }
      const target = text(JSON.stringify({ generation: 1, target: revision, priority: 0, created: '', uid: '' }));
      producer.put(t, { key: 't/center.retail/a', attributes: target, body: new Uint8Array(0) }, revision);
    });
  }

  /** The reports that the parent has received about the placement. */
  reported() {
    const { store, consumer } = this.pair.parent;
    return store.read((reader) => {
      const row = consumer.get(reader, hash128('partial/center.retail/a'));
      return row?.content && decodePartial(consumer.content(reader, row.content).body);
    });
  }

  async run(ms: number): Promise<void> {
    for (let done = 0; done < ms; done += 50) {
      await this.pair.run(50);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

describe('an agent with a parent', () => {
  it('applies its entries from the parent, and reports to the parent when they are available', async () => {
    const tree = new Tree();
    tree.startAgent();
    tree.deliver(['/namespaces//shop', namespace('shop')], [till, configMap('till')]);
    await tree.run(1_000);
    expect(tree.uplink.wasAttached).toBe(true);
    expect(tree.cluster.objects.get(till)).toMatchObject({ data: { a: '1' } });
    expect(tree.reported()).toMatchObject({ target: 2, counts: { expected: 1, applied: 1, available: 1 } });
  });

  it('continues without it through a restart, and catches up when it is back', async () => {
    const tree = new Tree();
    tree.startAgent();
    tree.deliver(['/namespaces//shop', namespace('shop')], [till, configMap('till')]);
    await tree.run(1_000);
    await tree.stopAgent();
    tree.pair.cut = true;
    tree.cluster.erase(till);
    tree.startAgent();
    await tree.run(2_000);
    expect(tree.uplink.wasAttached).toBe(false);
    expect(tree.cluster.objects.get(till)).toMatchObject({ data: { a: '1' } });
    tree.deliver([till, configMap('till', { a: '2' })]);
    tree.pair.cut = false;
    await tree.run(90_000);
    expect(tree.cluster.objects.get(till)).toMatchObject({ data: { a: '2' } });
    expect(tree.reported()).toMatchObject({ target: 3, counts: { available: 1 } });
  });

  it('that lost its store sends its reports again when it has its objects again', async () => {
    const tree = new Tree();
    tree.startAgent();
    tree.deliver(['/namespaces//shop', namespace('shop')], [till, configMap('till')]);
    await tree.run(1_000);
    await tree.stopAgent();
    tree.store = new MemoryStore();
    tree.startAgent();
    await tree.run(5_000);
    expect(tree.reported()).toMatchObject({ target: 2, counts: { expected: 1, applied: 1, available: 1 } });
    expect(tree.cluster.log.filter((line) => line.startsWith('remove'))).toEqual([]);
  });

  it('says goodbye in order when it ends', async () => {
    const tree = new Tree();
    tree.startAgent();
    await tree.run(500);
    expect(tree.pair.events).toContain('parent: connected');
    await tree.stopAgent();
    await tree.run(100);
    expect(tree.pair.events.some((line) => line.startsWith('parent: disconnected'))).toBe(true);
    expect(tree.uplink.attached).toBe(false);
  });
});
