/** A quarantined report that has no valid form, and that its child withdraws. */
import { afterEach, expect, it, vi } from 'vitest';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { parseKey } from '../../../../core/object/key.ts';
import { text } from '../../../../core/store/bytes.ts';
import { WholeTree } from '../../../support/whole-tree.ts';

const placementKey = parseKey('edge.banyan.io/edgeplacements//shop');
const partial = 'partial/center.retail/shop';
afterEach(() => vi.restoreAllMocks());

it('a quarantined report that the child withdraws no longer counts as quarantined', async () => {
  let mode: 'bad' | 'withdraw' = 'bad';
  let withdrawn = 0;
  const put = FeedProducer.prototype.put;
  vi.spyOn(FeedProducer.prototype, 'put').mockImplementation(function (this: FeedProducer, t, content, ...rest) {
    if (content.key !== partial) return put.call(this, t, content, ...rest);
    if (mode === 'bad') return put.call(this, t, { ...content, body: text('no partial') }, ...rest);
    withdrawn++;
    return this.remove(t, hash128(partial), 0);
  });
  const tree = new WholeTree({ relays: [''], agents: ['a'] });
  await tree.start();
  await tree.run(100);
  const shop = (image: string) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image }] } },
    },
  });
  tree.apply('', 'retail', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, shop('web:1'), {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'shop' },
    spec: {
      locationSelectors: [{ matchLabels: { env: 'prod' } }],
      downsync: [{ apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'] }],
    },
  });
  const summary = () =>
    (tree.space('', 'retail').get(placementKey)?.status as { summary?: Record<string, number> } | undefined)?.summary;
  await tree.until('it is quarantined', () => summary()?.quarantined === 1);
  await tree.run(5_000);
  mode = 'withdraw';
  // Somebody deletes the Deployment at the cluster: the agent's partial changes, and the center changes nothing.
  tree.cluster('a').delete(parseKey('apps/deployments/shop/web'));
  await tree.run(10_000);
  expect(withdrawn).toBeGreaterThan(0);
  const before = summary();
  const committed = tree.backup('');
  tree.kill('');
  tree.restore('', committed);
  await tree.start('');
  await tree.run(5_000);
  expect(before).toEqual(summary());
});
