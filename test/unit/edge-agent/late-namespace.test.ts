/** Objects that arrived before their namespace, or that somebody has deleted with it. */
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { AgentBench, configMap, namespace } from './support/agent-bench.ts';
import { FakeCluster } from './support/fake-cluster.ts';

const shop = '/namespaces//shop';
const till = '/configmaps/shop/till';

/** Like a real cluster. */
class StrictCluster extends FakeCluster {
  /** A refusal takes effect only then. */
  answers: Promise<void> = Promise.resolve();

  override async apply(object: KubeObject, options?: { dryRun?: boolean }): Promise<KubeObject> {
    if (object.metadata.namespace !== undefined && !this.objects.has(shop)) {
      this.log.push('refused');
      await this.answers;
      throw new BanyanError('NotFound', 'namespaces "shop" not found');
    }
    if (object.metadata.namespace !== undefined && this.objects.get(shop)?.metadata.deletionTimestamp !== undefined) {
      const causes = [
        { reason: 'NamespaceTerminating', message: 'it is being terminated', field: 'metadata.namespace' },
      ];
      throw new BanyanError('Forbidden', 'unable to create new content in namespace shop', { causes });
    }
    return super.apply(object, options);
  }
}

async function withoutNamespace(cluster = new StrictCluster()) {
  const bench = await new AgentBench(cluster).start();
  await bench.receive(bench.object(till, configMap('till'), ['shop-prod']));
  return bench;
}

it('an object that has failed for long is applied as soon as its namespace exists', async () => {
  const bench = await withoutNamespace();
  for (let minute = 0; minute < 10; minute++) await bench.advance(60_000);
  expect(bench.cluster.log.filter((line) => line === 'refused').length).toBeGreaterThan(3);
  expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({ failed: true, reason: 'NotFound' });
  bench.cluster.log.length = 0;
  await bench.receive(bench.object(shop, namespace('shop'), ['shop-prod']));
  expect(bench.cluster.log).toEqual([`apply ${shop}`, `apply ${till}`]);
});

it('and one that is being refused while its namespace appears, too', async () => {
  const cluster = new StrictCluster();
  const bench = await withoutNamespace(cluster);
  let answer = () => {};
  cluster.answers = new Promise((resolve) => {
    answer = resolve;
  });
  cluster.log.length = 0;
  bench.clock.advance(10_000);
  await expect.poll(() => cluster.log).toEqual(['refused']);
  const received = bench.receive(bench.object(shop, namespace('shop'), ['shop-prod']));
  await expect.poll(() => cluster.log).toEqual(['refused', `apply ${shop}`]);
  answer();
  await received;
  expect(cluster.log).toEqual(['refused', `apply ${shop}`, `apply ${till}`]);
});

it('a namespace that exists and does not help is not read again at once', async () => {
  const bench = await withoutNamespace();
  await bench.receive(bench.object(shop, namespace('shop'), ['shop-prod']));
  bench.cluster.erase(shop);
  bench.cluster.log.length = 0;
  await bench.receive(bench.object(till, configMap('till', { a: '2' }), ['shop-prod']));
  await bench.settle();
  expect(bench.cluster.log.filter((line) => line === 'refused').length).toBeLessThanOrEqual(1);
});

it('an object that was deleted with its namespace is applied as soon as the namespace is made anew, however long the deletion took', async () => {
  const bench = await withoutNamespace();
  await bench.receive(bench.object(shop, namespace('shop'), ['shop-prod']));
  bench.cluster.write(shop, ({ metadata }) => Object.assign(metadata, { deletionTimestamp: 'now' }));
  bench.cluster.erase(till);
  for (let minute = 0; minute < 60; minute++) await bench.advance(60_000);
  expect(bench.reported(`state/center.retail/${till}`)!.attributes).toMatchObject({
    failed: true,
    reason: 'Forbidden',
  });
  bench.cluster.log.length = 0;
  bench.cluster.erase(shop);
  await bench.settle();
  expect(bench.cluster.log).toEqual([`apply ${shop}`, `apply ${till}`]);
});
