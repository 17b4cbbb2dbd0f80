/** A Deployment that gets the strategy Recreate, on a cluster that fills in the parameters of a rolling update. */
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { AgentBench, deployment, namespace } from './support/agent-bench.ts';
import { FakeCluster } from './support/fake-cluster.ts';

const shop = '/namespaces//shop';
const till = 'apps/deployments/shop/till';
const refusal = "Forbidden: may not be specified when strategy `type` is 'Recreate'";

interface Strategy {
  type?: string;
  rollingUpdate?: object;
}
const strategyOf = (object: KubeObject | undefined) => (object?.spec as { strategy?: Strategy } | undefined)?.strategy;

/** Like a real cluster: what the server has filled in stays until its owner leaves it out. */
class FillingCluster extends FakeCluster {
  #isOwned = false;
  readonly sent: (Strategy | undefined)[] = [];

  override async apply(object: KubeObject, options?: { dryRun?: boolean }): Promise<KubeObject> {
    if (object.kind !== 'Deployment') return super.apply(object, options);
    const strategy = strategyOf(object);
    this.sent.push(strategy);
    if (strategy?.type === 'Recreate' && strategyOf(this.objects.get(till))?.rollingUpdate && !this.#isOwned) {
      const causes = [{ reason: 'FieldValueForbidden', field: 'spec.strategy.rollingUpdate', message: refusal }];
      throw new BanyanError('Invalid', `Deployment.apps "till" is invalid: spec.strategy.rollingUpdate: ${refusal}`, {
        causes,
      });
    }
    this.#isOwned = strategy?.rollingUpdate !== undefined;
    const filled =
      strategy?.type === 'Recreate' ? strategy : { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } };
    return super.apply({ ...object, spec: { ...(object.spec as object), strategy: filled } }, options);
  }
}

const withStrategy = (strategy?: Strategy) => {
  const object = deployment('till');
  return { ...object, spec: { ...(object.spec as object), ...(strategy ? { strategy } : {}) } };
};

it('a Deployment gets the strategy Recreate, although the cluster has filled in the parameters of the former strategy', async () => {
  const cluster = new FillingCluster();
  const bench = await new AgentBench(cluster).start();
  await bench.receive(
    bench.object(shop, namespace('shop'), ['shop-prod']),
    bench.object(till, withStrategy(), ['shop-prod']),
  );
  expect(strategyOf(cluster.objects.get(till))).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } });
  cluster.sent.length = 0;
  await bench.receive(bench.object(till, withStrategy({ type: 'Recreate' }), ['shop-prod']));
  expect(strategyOf(cluster.objects.get(till))).toEqual({ type: 'Recreate' });
  expect(cluster.sent).toEqual([
    { type: 'Recreate' },
    { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } },
    { type: 'Recreate' },
  ]);
});
