import { expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { Table } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { storedPlacements } from '../../../../relay/placements/placements.ts';
import { WholeTree } from '../../../support/whole-tree.ts';

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const web = (replicas: number): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'web:1' }] } },
  },
});
const placement = (change: number): KubeObject => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }, { matchLabels: { change: `${change}` } }],
    downsync: [{ apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'] }],
  },
});
const placementKey = parseKey('edge.banyan.io/edgeplacements//shop');
const webKey = parseKey('apps/deployments/shop/web');

/** An agent whose placement and object change so often that the next reports about them have to wait. Then the placement is deleted. */
class Shop {
  readonly tree: WholeTree;
  readonly #parent: string;

  constructor(parent: '' | 'eu') {
    this.#parent = parent;
    this.tree = new WholeTree(
      parent === '' ? { relays: [''], agents: ['a'] } : { relays: ['', 'eu'], agents: ['eu:a'] },
    );
  }

  async start(): Promise<this> {
    await this.tree.start();
    await this.tree.run(100);
    this.tree.apply('', 'retail', namespace, web(1), placement(0));
    await this.tree.until('the object has a status', () => this.status() !== undefined);
    await this.tree.run(5_000);
    return this;
  }

  /** Deletes the placement while the agent is away, so that no report of the agent causes another one. Returns when the agent's parent has forgotten it. */
  async deleted(): Promise<void> {
    for (let change = 1; change <= 12; change++) {
      this.tree.apply('', 'retail', placement(change), web(change));
      await this.tree.run(30);
    }
    this.tree.kill(this.#parent === '' ? 'a' : 'eu:a');
    this.tree.space('', 'retail').delete(placementKey);
    await this.tree.until('the placement is forgotten', () => this.#placements().length === 0);
  }

  /** Ends the process and starts it again with everything that it had committed. */
  async restartParent(): Promise<void> {
    const committed = this.tree.backup(this.#parent);
    this.tree.kill(this.#parent);
    this.tree.restore(this.#parent, committed);
    await this.tree.start(this.#parent);
    await this.tree.run(10_000);
  }

  status(): unknown {
    return this.tree.space('', 'retail').get(webKey)?.status;
  }

  /** The keys that the relay reports about the placement and its objects. */
  reportedByRelay(): string[] {
    return this.#keys('eu', (t) =>
      FeedProducer.open(t, { name: 'outbox', bootNonce: 'test', random: new SeededRandom(1) }),
    );
  }

  /** The keys of these reports that the center has. */
  receivedByCenter(): string[] {
    return this.#keys('', (t) => FeedConsumer.open(t, { name: 'reported/eu' }));
  }

  #placements(): string[] {
    return this.tree.backup(this.#parent).read((reader) => storedPlacements(reader));
  }

  #keys(id: string, open: (t: Transaction) => Table): string[] {
    return this.tree.backup(id).write((t) => {
      const table = open(t);
      const keys = [...table.rows(t)].flatMap(({ content }) => (content ? [table.content(t, content).key] : []));
      return keys.filter((key) => /^(partial|aggregate)\//.test(key)).sort();
    });
  }
}

const keys = ['partial/center.retail/shop', 'aggregate/center.retail/apps/deployments/shop/web'].sort();

it('a relay that stopped after the end of a placement, and before it reported the end, takes its reports back after its start', async () => {
  const shop = await new Shop('eu').start();
  await shop.deleted();
  expect([shop.reportedByRelay(), shop.receivedByCenter()]).toEqual([keys, keys]);
  await shop.restartParent();
  expect([shop.reportedByRelay(), shop.receivedByCenter()]).toEqual([[], []]);
});

it('a center that stopped after the end of a placement, and before it wrote that, takes statuses of objects back after its start', async () => {
  const shop = await new Shop('').start();
  await shop.deleted();
  expect(shop.status()).toBeDefined();
  await shop.restartParent();
  expect(shop.tree.space('', 'retail').get(webKey)).toBeDefined();
  expect(shop.status()).toBeUndefined();
});
