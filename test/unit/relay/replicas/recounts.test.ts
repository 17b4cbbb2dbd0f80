import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ReplicaRecount } from '../../../../relay/replicas/recounts.ts';
import { markDirty } from '../../../../relay/work/dirty.ts';

const placementsOf: Readonly<Record<string, readonly string[]>> = {
  'paris~1': ['center.retail/shop', 'center.retail/till'],
  'paris~2': ['center.retail/shop'],
};

describe('the reports of children that count, or no longer count', () => {
  const store = new MemoryStore();
  let said: string[];
  const recounts = new ReplicaRecount(store, {
    labels: (_t, children) => said.push(`labels of ${children.join(' ')}`),
    nodes: (_t, child) => said.push(`nodes of ${child}`),
    placements: (_t, child) => placementsOf[child] ?? [],
    contributionsChanged: (keys) => said.push(`sums ${[...keys].join(', ')}`),
    decide: (id) => said.push(`decide ${id}`),
    report: (ids) => said.push(`report ${ids.join(' ')}`),
  });

  beforeEach(() => {
    said = [];
  });

  it('decide moves by the new sums, once for each placement: no node below will report anything more', () => {
    expect(recounts.recount(['paris~1', 'paris~2'])).toEqual(['center.retail/shop', 'center.retail/till']);
    expect(said.slice(3)).toEqual([
      'sums center.retail/shop paris~1, center.retail/till paris~1, center.retail/shop paris~2',
      'decide center.retail/shop',
      'decide center.retail/till',
    ]);
  });

  it('are added up again before the node reports', () => {
    expect(recounts.recountChildren(['paris~2'])).toBe(true);
    expect(said).toEqual([
      'labels of paris~2',
      'nodes of paris~2',
      'sums center.retail/shop paris~2',
      'decide center.retail/shop',
      'report center.retail/shop',
    ]);
  });

  it('change nothing of a placement whose work remains, and are checked again', () => {
    store.write((t) => markDirty(t, 'placement', 'center.retail/till'));
    expect(recounts.recountChildren(['paris~1'])).toBe(false);
    expect(said.some((one) => one.startsWith('report'))).toBe(false);
  });
});
