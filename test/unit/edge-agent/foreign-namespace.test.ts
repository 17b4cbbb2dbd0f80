/** Objects in an existing namespace that differs from the placement's. */
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { AgentBench, configMap, namespace } from './support/agent-bench.ts';
import { FakeCluster } from './support/fake-cluster.ts';

const placement = 'center.retail/shop';
const shop = '/namespaces//shop';
const till = '/configmaps/shop/till';

/** Like a real cluster; a policy may refuse to change or make namespaces. */
class StrictCluster extends FakeCluster {
  policy = false;

  override async apply(object: KubeObject, options?: { dryRun?: boolean }): Promise<KubeObject> {
    if (object.kind === 'Namespace' && this.policy) throw new BanyanError('Forbidden', 'the policy names denies it');
    if (object.metadata.namespace !== undefined && !this.objects.has(shop)) {
      this.log.push('refused');
      throw new BanyanError('NotFound', 'namespaces "shop" not found');
    }
    return super.apply(object, options);
  }
}

function keptByHelm(cluster: FakeCluster): void {
  cluster.write(shop, (object) => {
    object.kind = 'Namespace';
    object.metadata = { ...object.metadata, name: 'shop', annotations: { 'meta.helm.sh/release-name': 'site' } };
  });
}

async function placed(cluster: StrictCluster) {
  const bench = await new AgentBench(cluster).start();
  await bench.receive(
    bench.object(till, configMap('till'), ['shop']),
    bench.object(shop, namespace('shop'), ['shop']),
    bench.target(placement),
  );
  await bench.advance(10_000);
  return bench;
}

const reasonOf = (bench: AgentBench<StrictCluster>, key: string) =>
  bench.reported(`state/center.retail/${key}`)?.attributes.reason;

describe('an object in a namespace that somebody else keeps', () => {
  it('is applied, and the namespace is left alone and named in the report', async () => {
    const cluster = new StrictCluster();
    keptByHelm(cluster);
    const theirs = structuredClone(cluster.objects.get(shop));
    const bench = await placed(cluster);
    expect(cluster.objects.has(till)).toBe(true);
    expect(cluster.objects.get(shop)).toEqual(theirs);
    expect(reasonOf(bench, shop)).toBe('NotOwned');
    expect(reasonOf(bench, till)).toBeUndefined();
  });

  it('is restored with the namespace, if that is deleted and belongs to nobody then', async () => {
    const cluster = new StrictCluster();
    keptByHelm(cluster);
    const bench = await placed(cluster);
    cluster.erase(till);
    cluster.erase(shop);
    await bench.advance(2_000);
    expect(cluster.objects.has(till)).toBe(true);
    expect(reasonOf(bench, shop)).toBeUndefined();
  });

  it('goes with the placement, and the namespace stays', async () => {
    const cluster = new StrictCluster();
    keptByHelm(cluster);
    const bench = await placed(cluster);
    expect(cluster.objects.has(till)).toBe(true);
    await bench.receive(bench.gone(`o/center.retail/${till}`), bench.gone(`o/center.retail/${shop}`));
    await bench.advance(10_000);
    expect(cluster.objects.has(till)).toBe(false);
    expect(cluster.objects.has(shop)).toBe(true);
  });
});

describe('a namespace that a policy', () => {
  it('does not let change blocks nothing in it', async () => {
    const cluster = new StrictCluster();
    const bench = await placed(cluster);
    cluster.policy = true;
    const changed = { ...namespace('shop'), metadata: { name: 'shop', labels: { team: 'tills' } } };
    await bench.receive(
      bench.object(shop, changed, ['shop']),
      bench.object(till, { ...configMap('till'), data: { a: 'new' } }, ['shop']),
    );
    await bench.advance(10_000);
    expect(reasonOf(bench, shop)).toBe('Forbidden');
    expect(cluster.objects.get(till)!.data).toEqual({ a: 'new' });
  });

  it('does not let be created blocks everything in it', async () => {
    const cluster = new StrictCluster();
    cluster.policy = true;
    const bench = await placed(cluster);
    expect(cluster.log.filter((line) => line === 'refused')).toEqual([]);
    expect(reasonOf(bench, till)).toBe('WaitingForNamespace');
    cluster.policy = false;
    await bench.advance(60_000);
    expect(cluster.objects.has(till)).toBe(true);
  });
});
