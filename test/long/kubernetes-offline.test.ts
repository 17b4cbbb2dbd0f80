import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { WireEntry } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { canonicalBytes } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { VirtualClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { SeededRandom } from '../../core/runtime/random.ts';
import { text } from '../../core/store/bytes.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import { Agent } from '../../edge-agent/agent/agent.ts';
import { accessOf } from '../../edge-agent/cluster/kubernetes/access.ts';
import { KubernetesCluster } from '../../edge-agent/cluster/kubernetes/kubernetes-cluster.ts';
import { kubectlBy } from '../e2e/local-tree.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const buildMsMax = 3_600_000;
const hourMs = 3_600_000;
/** The longest waits of a watch and of a refused object: 30 s and 300 s. */
const stepMs = 5_000;

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const prices = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'prices', namespace: 'shop' },
  data: { bread: '3' },
};
const labels = { app: 'till' };
const till = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', namespace: 'shop' },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'till', image: 'registry.example.com/till:1' }] } },
  },
};

/** One agent after the other on one store and one clock, which the test advances. The cluster beside it lives in real time. */
class OfflineAgent implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly #kubeconfig: string;
  readonly #directory: string;
  #running: { readonly agent: Agent; readonly cluster: KubernetesCluster; readonly store: LmdbStore } | undefined;
  #boots = 0;

  constructor(kubeconfig: string, directory: string) {
    this.#kubeconfig = kubeconfig;
    this.#directory = directory;
  }

  /** The process starts. Without a parent, only `entries` arrive, once. */
  async start(entries: readonly WireEntry[] = []): Promise<void> {
    const random = new SeededRandom(++this.#boots);
    const { clock } = this;
    const ports = { clock, random, logger: silentLogger };
    const store = LmdbStore.open({ directory: this.#directory }, silentLogger);
    const [consumer, producer] = store.write((t) => [
      FeedConsumer.open(t, { name: 'upstream' }),
      FeedProducer.open(t, { name: 'outbox', bootNonce: `boot-${this.#boots}`, random }),
    ]);
    const access = await accessOf(
      { kubeconfig: this.#kubeconfig },
      { host: undefined, port: undefined, directory: '' },
    );
    const cluster = new KubernetesCluster({ ...ports, store, access });
    const [path, version] = ['store-17', '0.0.0'];
    const wires = { downstream: consumer.sound, quarantine: consumer, outbox: producer, wrote() {} };
    const agent = new Agent({ ...ports, ...wires, path, version, store, cluster, schedule: setImmediate });
    this.#running = { agent, cluster, store };
    agent.start();
    if (entries.length > 0) store.write((t) => agent.received(consumer.applyEntries(t, entries)));
  }

  /** Like a power failure, after everything that was durable. */
  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.agent.stop();
    await running?.cluster[Symbol.asyncDispose]();
    await running?.store[Symbol.asyncDispose]();
  }

  /** This much of the agent's time, in steps; the cluster may answer after each step. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(stepMs);
      await delay(2);
    }
  }

  /** Until it holds; returns the ms of the agent's time that it took. */
  async until(what: string, holds: () => boolean): Promise<number> {
    for (let passedMs = 0; passedMs < hourMs; passedMs += stepMs) {
      if (holds()) return passedMs;
      this.clock.advance(stepMs);
      await delay(100);
    }
    throw new Error(`not within an hour: ${what}`);
  }
}

describe.skipIf(missing)(`an agent of a real cluster without a parent${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-offline-'));
  let plane: ControlPlane;
  let agent: OfflineAgent;
  const site = (...args: string[]): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  const ready = () =>
    kubectlBy(plane.kubeconfig, ['get', 'deployment', 'till', '-n', 'shop', '-o', 'jsonpath={.status.readyReplicas}'])
      .out;
  const bread = () =>
    kubectlBy(plane.kubeconfig, ['get', 'configmap', 'prices', '-n', 'shop', '-o', 'jsonpath={.data.bread}']).out;
  const isAsItShouldBe = () => ready() === '2' && bread() === '3';

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane'), audit: true });
    furnish(plane, { nodes: 1, volumes: 0 });
    agent = new OfflineAgent(plane.kubeconfig, join(directory, 'store'));
    await agent.start(entriesOf(namespace, prices, till));
    await agent.until('the shop is there', isAsItShouldBe);
  }, buildMsMax);
  afterAll(async () => {
    await agent?.[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('works for an hour, through a reboot of the cluster and of itself, from its own store', async () => {
    await agent.pass(hourMs / 3);
    await agent[Symbol.asyncDispose]();
    await plane.stopComponents(['kube-apiserver', 'etcd']);
    // The machine is back before its cluster is.
    await agent.start();
    await agent.pass(hourMs / 3);
    await plane.startComponents('etcd', 'kube-apiserver');
    site('delete', 'deployment/till', 'configmap/prices', '-n', 'shop');
    await agent.until('both are back', isAsItShouldBe);
    await agent.pass(hourMs / 3);
    site('scale', 'deployment', 'till', '-n', 'shop', '--replicas=5');
    // Until its controllers have observed the new number, as many are ready as before.
    const wanted = () => site('get', 'deployment', 'till', '-n', 'shop', '-o', 'jsonpath={.spec.replicas}');
    await agent.until('it is put back', () => wanted() === '2' && isAsItShouldBe());
  });

  it('restores a whole namespace that was deleted while the agent was off', async () => {
    await agent[Symbol.asyncDispose]();
    site('delete', 'namespace', 'shop');
    await agent.start();
    await agent.until('the shop is there again', isAsItShouldBe);
  });

  it('sends the cluster few requests while it has nothing to do', async () => {
    const asked = () => plane.audited().filter(({ userAgent }) => userAgent === 'banyan-agent').length;
    // The requests of the start in the former test come first; the agent's clock stands still.
    let before = -1;
    for (; before !== asked(); await new Promise((resolve) => setTimeout(resolve, 1_000))) before = asked();
    await agent.pass(hourMs);
    // Three small requests about the served kinds every ten minutes. Watches end in real time, and an hour of the agent's time takes a second or two.
    expect(asked() - before).toBeLessThanOrEqual(3 * 6);
  });
});

/** Entries as a parent sends them: each object, wanted by one placement. */
function entriesOf(...objects: readonly KubeObject[]): WireEntry[] {
  const target = { generation: 1, target: 1, priority: 0, created: '', uid: '' };
  const rows = objects.map((object) => {
    const resource = { ConfigMap: 'configmaps', Deployment: 'deployments', Namespace: 'namespaces' }[object.kind]!;
    const { name = '', namespace: of = '' } = object.metadata;
    const key = formatKey({ group: object.kind === 'Deployment' ? 'apps' : '', resource, namespace: of, name });
    const attributes = { uid: name, created: '2026-01-01T00:00:00Z', generation: 1, refs: ['shop'] };
    return { key: `o/center.retail/${key}`, attributes, body: canonicalBytes(object) };
  });
  const all = [...rows, { key: 't/center.retail/shop', attributes: target, body: new Uint8Array(0) }];
  return all.map(({ key, attributes, body }, i) => ({
    keyHash: hash128(key),
    revision: i + 1,
    originRevision: i + 1,
    content: { key, attributes: text(JSON.stringify(attributes)), body },
  }));
}
