/** Drift of an object that the cluster returns in another version than the applied one. */
import { describe, expect, it } from 'vitest';
import type { SparseApplyRules } from '../../../core/entries/apply-rules.ts';
import { AgentBench, namespace } from './support/agent-bench.ts';
import { autoscaler, ConvertingCluster } from './support/converting-cluster.ts';

const till = 'autoscaling/horizontalpodautoscalers/shop/till';
const state = `state/center.retail/${till}`;

async function withRules(apply: SparseApplyRules = {}): Promise<AgentBench<ConvertingCluster>> {
  const bench = await new AgentBench(new ConvertingCluster()).start();
  await bench.receive(
    bench.object('/namespaces//shop', namespace('shop'), ['shop-prod']),
    bench.object(till, autoscaler('till', 80), ['shop-prod']),
    bench.target('center.retail/shop-prod', 1, { apply }),
  );
  bench.cluster.log.length = 0;
  return bench;
}

/** Its controller writes the status again and again, and changes no applied field. */
async function live(bench: AgentBench) {
  for (let round = 1; round <= 8; round++) {
    bench.cluster.write(till, (object) => {
      object.status = { currentReplicas: round, desiredReplicas: round };
    });
    await bench.advance(15_000);
  }
}

/** Somebody writes another value, in any version: the server takes the field from the agent. */
function retarget(bench: AgentBench, averageUtilization: number) {
  bench.cluster.write(till, (object) => {
    (object.spec as Record<string, number>).targetCPUUtilizationPercentage = averageUtilization;
    const fields = object.metadata.managedFields?.[0]?.fieldsV1 as { 'f:spec': Record<string, object> };
    delete fields['f:spec']['f:targetCPUUtilizationPercentage'];
  });
}

const targetOf = ({ cluster }: AgentBench) =>
  (cluster.objects.get(till)!.spec as { targetCPUUtilizationPercentage: number }).targetCPUUtilizationPercentage;

describe('an object that its cluster returns in another version', () => {
  it('has not drifted because of that: it is applied once, and not checked again', async () => {
    for (const drift of ['Correct', 'Report'] as const) {
      const bench = await withRules({ drift });
      const { reads } = bench.cluster;
      await live(bench);
      expect(bench.cluster.reads).toBe(reads);
      await bench.restart();
      await live(bench);
      expect(bench.cluster.log).toEqual([]);
      const { attributes } = bench.reported(state)!;
      expect([attributes.available, attributes.reason]).toEqual([true, undefined]);
    }
  });

  it('is corrected when somebody changes a field that has another place in the returned version', async () => {
    const bench = await withRules();
    await live(bench);
    retarget(bench, 50);
    await bench.advance(10_000);
    expect(bench.cluster.log).toEqual([`apply ${till}`]);
    expect(targetOf(bench)).toBe(80);
  });

  it('is corrected when somebody changes a label of it', async () => {
    const bench = await withRules();
    bench.cluster.write(till, (object) => Object.assign(object.metadata.labels!, { app: 'other' }));
    await bench.advance(10_000);
    expect(bench.cluster.objects.get(till)!.metadata.labels!.app).toBe('till');
  });

  it('is described by the fields of the applied version, if a change stays', async () => {
    const bench = await withRules({ drift: 'Report' });
    retarget(bench, 50);
    await bench.advance(10_000);
    expect(bench.cluster.log).toEqual([]);
    expect(bench.reported(state)!.attributes).toMatchObject({
      reason: 'Drifted',
      message: 'spec.targetCPUUtilizationPercentage is 50 and was applied as 80',
    });
  });

  it('keeps the cluster’s value of an ignored field when it is applied again', async () => {
    const bench = await withRules({ ignored: ['.spec.targetCPUUtilizationPercentage'] });
    retarget(bench, 50);
    await bench.advance(10_000);
    expect(bench.cluster.log).toEqual([]);
    const wanted = autoscaler('till', 80);
    Object.assign(wanted.spec as object, { maxReplicas: 12 });
    await bench.receive(bench.object(till, wanted, ['shop-prod']));
    expect(bench.cluster.log).toEqual([`apply ${till}`]);
    expect(targetOf(bench)).toBe(50);
  });
});
