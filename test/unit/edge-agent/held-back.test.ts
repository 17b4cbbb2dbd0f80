import { describe, expect, test } from 'vitest';
import { parseKey } from '../../../core/object/key.ts';
import type { AppliedObject } from '../../../edge-agent/cluster/cluster.ts';
import { signatureOf } from '../../../edge-agent/cluster/mark.ts';
import { AgentBench, configMap, namespace } from './support/agent-bench.ts';

const shop = 'center.retail/shop';
const limits = { entries: 50, fraction: 0.2 };

/** An agent whose store has a placement of two objects, and that was not active last. */
async function heldBack(): Promise<AgentBench> {
  const bench = new AgentBench();
  bench.isHeldBack = true;
  bench.receiveWhileStopped(
    bench.object('/namespaces//shop', namespace('shop'), ['shop']),
    bench.object('/configmaps/shop/prices', configMap('prices'), ['shop']),
    bench.target(shop),
  );
  await bench.restart();
  return bench;
}

/** An object on the cluster that another store of this agent applied. */
function appliedBefore(bench: AgentBench, key: AppliedObject['key']): AppliedObject {
  const name = `${key.group}/${key.resource}/${key.namespace}/${key.name}`;
  const uid = bench.cluster.objects.get(name)?.metadata.uid ?? '';
  return { key, uid, agent: 'eu:paris:store-17', source: 'center.retail', created: true };
}

describe('an agent whose store may know less than the cluster', () => {
  test('applies, corrects and removes nothing, and reports only itself', async () => {
    const bench = await heldBack();
    await bench.advance(60_000);
    expect(bench.cluster.log).toEqual([]);
    expect(bench.reportedKeys('')).toEqual(['node/eu:paris:store-17']);
  });

  test('applies the present desired state when it is released, and reports it', async () => {
    const bench = await heldBack();
    await bench.receive(bench.gone('o/center.retail//configmaps/shop/prices'));
    bench.agent.resume();
    await bench.settle();
    await bench.advance(1_000);
    expect(bench.cluster.log).toEqual(['apply /namespaces//shop']);
    expect([bench.agent.hasReportedAll, bench.counts(shop)?.applied]).toEqual([true, 1]);
  });

  test('asks its parent to keep its former reports, for ten seconds: then the waiting is shown', async () => {
    const bench = await heldBack();
    expect(bench.agent.hasReportedAll).toBe(false);
    await bench.advance(10_000);
    expect(bench.agent.hasReportedAll).toBe(true);
  });

  test('does not report a placement as gone before it knows the objects of the cluster', async () => {
    const bench = await heldBack();
    await bench.receive(bench.gone(`t/${shop}`));
    await bench.advance(20_000);
    expect(bench.reportedKeys('gone/')).toEqual([]);
  });

  test('removes objects that the scan recorded and no placement wants', async () => {
    const bench = await heldBack();
    const before = { resource: 'configmaps', group: '', namespace: 'shop', name: 'old' };
    await bench.cluster.apply(namespace('shop'));
    await bench.cluster.apply({
      ...configMap('old'),
      metadata: { name: 'old', namespace: 'shop', labels: { 'banyan.io/managed': 'true' } },
    });
    bench.agent.scanAppliedInventory([appliedBefore(bench, before)], limits);
    await bench.settle();
    expect(bench.cluster.log).toEqual(['apply /namespaces//shop', 'apply /configmaps/shop/old']);
    bench.agent.resume();
    await bench.settle();
    expect(bench.cluster.log).toContain('remove /configmaps/shop/old');
  });

  test('keeps unwanted objects if they are too many to remove at once, reports them, and removes them on approval', async () => {
    const bench = await heldBack();
    await bench.cluster.apply(namespace('shop'));
    const names = ['a', 'b', 'c'];
    const metadata = { namespace: 'shop', labels: { 'banyan.io/managed': 'true' } };
    for (const name of names) await bench.cluster.apply({ ...configMap(name), metadata: { ...metadata, name } });
    const found = names.map((name) =>
      appliedBefore(bench, { resource: 'configmaps', group: '', namespace: 'shop', name }),
    );
    bench.agent.scanAppliedInventory(found, { entries: 2, fraction: 0.2 });
    bench.agent.resume();
    await bench.settle();
    await bench.advance(1_000);
    const { held } = bench.reported('node/eu:paris:store-17')!.attributes as {
      held: { entries: number; token: string };
    };
    expect(held.entries).toBe(3);
    const removed = () => bench.cluster.log.filter((line) => line.startsWith('remove'));
    bench.agent.approveHeldRemovals('another');
    await bench.settle();
    expect(removed()).toEqual([]);
    bench.agent.approveHeldRemovals(held.token);
    await bench.settle();
    await bench.advance(1_000);
    expect(removed().sort()).toEqual(names.map((name) => `remove /configmaps/shop/${name}`));
    expect(bench.reported('node/eu:paris:store-17')!.attributes).not.toHaveProperty('held');
  });

  test('removes no more with two scans than with one', async () => {
    const bench = await heldBack();
    const names = ['o1', 'o2', 'o3'];
    await bench.cluster.apply(namespace('shop'));
    const metadata = { namespace: 'shop', labels: { 'banyan.io/managed': 'true' } };
    for (const name of names) await bench.cluster.apply({ ...configMap(name), metadata: { ...metadata, name } });
    const found = names.map((name) =>
      appliedBefore(bench, { resource: 'configmaps', group: '', namespace: 'shop', name }),
    );
    const one = { entries: 1, fraction: 0.2 };
    expect(bench.agent.scanAppliedInventory(found.slice(0, 1), one).kept.size).toBe(0);
    const { records, kept } = bench.agent.scanAppliedInventory(found, one);
    expect([records.size, kept.size]).toEqual([0, 2]);
  });

  test.each([
    ['Ignore', undefined],
    ['Report', 'Drifted'],
  ] as const)(
    'keeps the site’s changes of such an object by the rule %s, and applies new desired content',
    async (drift, reason) => {
      const first = await new AgentBench().start();
      const prices = '/configmaps/shop/prices';
      const wanted = (bench: AgentBench, data?: Record<string, string>) => [
        bench.object('/namespaces//shop', namespace('shop'), ['shop']),
        bench.object(prices, configMap('prices', data), ['shop']),
        bench.target(shop, 1, { apply: { drift } }),
      ];
      await first.receive(...wanted(first));
      first.cluster.write(prices, (object) => {
        object.data = { a: 'ours' };
      });
      await first.agent.stop();
      // Another process, with another store.
      const second = new AgentBench(first.cluster);
      second.isHeldBack = true;
      await second.restart();
      await second.receive(...wanted(second));
      const { metadata } = second.cluster.objects.get(prices)!;
      const signature = signatureOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata })!;
      second.agent.scanAppliedInventory([{ key: parseKey(prices), uid: metadata.uid!, ...signature }], limits);
      second.agent.resume();
      await second.advance(1_000);
      expect(second.cluster.objects.get(prices)!.data).toEqual({ a: 'ours' });
      expect(second.reported(`state/center.retail/${prices}`)!.attributes).toMatchObject({
        applied: true,
        ...(reason ? { reason } : {}),
      });
      await second.receive(...wanted(second, { a: 'new' }));
      expect(second.cluster.objects.get(prices)!.data).toEqual({ a: 'new' });
    },
  );

  test('marks the objects that came with it, so that another store of it may remove them', async () => {
    const bench = await heldBack();
    bench.agent.resume();
    await bench.settle();
    const { annotations } = bench.cluster.objects.get('/namespaces//shop')!.metadata;
    expect(annotations).toMatchObject({ 'banyan.io/created': 'true', 'banyan.io/agent': 'eu:paris:store-17' });
    const prices = bench.cluster.objects.get('/configmaps/shop/prices')!.metadata.annotations;
    expect(prices).toMatchObject({ 'banyan.io/created': 'true' });
  });
});
