/** The way of removal is recorded on the object itself, for a store of the agent that has no record of the object. */
import { expect, test } from 'vitest';
import { parseKey } from '../../../core/object/key.ts';
import { signatureOf } from '../../../edge-agent/cluster/mark.ts';
import { AgentBench, deployment, namespace } from './support/agent-bench.ts';

const placement = 'center.retail/shop';
const web = 'apps/deployments/shop/web';

async function placed(): Promise<AgentBench> {
  const bench = await new AgentBench().start();
  await bench.receive(
    bench.object('/namespaces//shop', namespace('shop'), ['shop']),
    bench.object(web, deployment('web'), ['shop']),
    bench.target(placement),
  );
  await bench.advance(10_000);
  return bench;
}

const signature = (bench: AgentBench) => signatureOf(bench.cluster.objects.get(web)!);

test('a placement with another deletion policy has its objects marked again, without a field conflict', async () => {
  const bench = await placed();
  expect(signature(bench)?.deletion).toBeUndefined();
  for (let i = 0; i < 10; i++) {
    const deletion = i % 2 === 0 ? 'Orphan' : 'Foreground';
    await bench.receive(bench.target(placement, 2 + i, { deletion }));
    await bench.settle();
    expect(signature(bench)?.deletion).toBe(deletion);
  }
  const before = bench.cluster.log.length;
  await bench.advance(600_000);
  expect(bench.cluster.log).toHaveLength(before);
  expect(bench.reported(`state/center.retail/${web}`)!.attributes.reason).not.toBe('Fight');
  await bench.receive(bench.target(placement, 20, {}));
  await bench.settle();
  expect(signature(bench)?.deletion).toBeUndefined();
});

test('an object to be orphaned is orphaned by another store of the agent', async () => {
  const bench = await placed();
  await bench.receive(bench.target(placement, 2, { deletion: 'Orphan' }));
  await bench.settle();
  const { uid = '' } = bench.cluster.objects.get(web)!.metadata;
  const successor = await new AgentBench(bench.cluster).start();
  bench.cluster.log.length = 0;
  successor.agent.scanAppliedInventory([{ key: parseKey(web), uid, ...signature(bench)! }], {
    entries: 50,
    fraction: 0.2,
  });
  await successor.settle();
  // Later events belong to the first agent, which continues.
  expect(bench.cluster.log[0]).toBe(`remove ${web} Orphan`);
});
