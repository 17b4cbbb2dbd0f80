import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ReplicaRecount } from '../../../../relay/replicas/recounts.ts';
import { markDirty } from '../../../../relay/work/dirty.ts';

const placementsOf: Readonly<Record<string, readonly string[]>> = {
  'paris~1': ['center.retail/shop', 'center.retail/till'],
  'paris~2': ['center.retail/shop'],
};

describe('reports that begin or cease to count', () => {
  const store = new MemoryStore();
  let calls: string[];
  const recounts = new ReplicaRecount(store, {
    labels: (_t, children) => calls.push(`labels of ${children.join(' ')}`),
    nodes: (_t, child) => calls.push(`nodes of ${child}`),
    placements: (_t, child) => placementsOf[child] ?? [],
    contributionsChanged: (keys) => calls.push(`sums ${[...keys].join(', ')}`),
    decide: (id) => calls.push(`decide ${id}`),
    report: (ids) => calls.push(`report ${ids.join(' ')}`),
  });

  beforeEach(() => {
    calls = [];
  });

  it('decide on moves by the new sums, once for each placement, because no further report from below would', () => {
    expect(recounts.recount(['paris~1', 'paris~2'])).toEqual(['center.retail/shop', 'center.retail/till']);
    expect(calls.slice(3)).toEqual([
      'sums center.retail/shop paris~1, center.retail/till paris~1, center.retail/shop paris~2',
      'decide center.retail/shop',
      'decide center.retail/till',
    ]);
  });

  it('are added up again before the result is reported', () => {
    expect(recounts.recountChildren(['paris~2'])).toBe(true);
    expect(calls).toEqual([
      'labels of paris~2',
      'nodes of paris~2',
      'sums center.retail/shop paris~2',
      'decide center.retail/shop',
      'report center.retail/shop',
    ]);
  });

  it('are not reported while the scheduler has work for a placement, so that the caller calls again', () => {
    store.write((t) => markDirty(t, 'placement', 'center.retail/till'));
    expect(recounts.recountChildren(['paris~1'])).toBe(false);
    expect(calls.some((one) => one.startsWith('report'))).toBe(false);
  });
});
