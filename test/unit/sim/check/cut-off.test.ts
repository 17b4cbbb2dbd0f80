import { expect, it } from 'vitest';
import { cutOffBy, lateTo } from '../../../sim/check/cut-off.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { World } from '../../../sim/world.ts';

const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'r', role: 'relay', labels: {}, spaces: ['ops'] },
  { path: 'r:a', role: 'agent', labels: {}, spaces: [] },
  { path: 's', role: 'relay', labels: {}, spaces: [], replicas: 2 },
];

it('keeps from what is below a dead line what is above it, and nothing of its own', () => {
  const isCutOff = cutOffBy(new World(1, nodes), ['r', 's']);
  expect([isCutOff('r'), isCutOff('r:a'), isCutOff('')]).toEqual([true, true, false]);
  expect([isCutOff('r:a', 'r'), isCutOff('r', 'r'), isCutOff('r:a', 's')]).toEqual([false, false, true]);
  expect(isCutOff('s')).toBe(false);
});

it('lets an agent that is cut off lose what its own origin does not want there any more, and nothing else', () => {
  const objects = new Map([['r:a', new Map([['ConfigMap w-r-ops-a/o1', 'v1']])]]);
  const model = { objects, placements: [] };
  const late = (dead: readonly string[], entry: string) =>
    lateTo(model, cutOffBy(new World(1, nodes), dead), () => false)('r:a', entry);
  const [kept, gone] = ['o1', 'o2'].map((name) => `o/r.ops//configmaps/w-r-ops-a/${name}`) as [string, string];
  expect([late(['r'], gone), late(['r'], kept)]).toEqual([true, false]);
  expect([late([], gone), late(['r:a'], gone)]).toEqual([false, false]);
  expect(late(['r'], 'o/center.retail//configmaps/w-center-retail-a/o2')).toBe(false);
  const namespace = (name: string) => late(['r'], `o/r.ops//namespaces//${name}`);
  expect([namespace('w-r-ops-a'), namespace('w-r-ops-b')]).toEqual([false, true]);
});

it('lets an agent that a liar has deceived lose what nobody wants there, and nothing else', () => {
  const objects = new Map([['r:a', new Map([['ConfigMap w-r-ops-a/o1', 'v1']])]]);
  const isLate = lateTo({ objects, placements: [] }, cutOffBy(new World(1, nodes), []), (path) => path === 'r:a');
  const entry = (namespace: string, name: string) => `o/r.ops//configmaps/${namespace}/${name}`;
  expect(isLate('r:a', entry('w-poison', 'p1'))).toBe(true);
  expect(isLate('r:a', entry('w-r-ops-a', 'o1'))).toBe(false);
  expect(isLate('r:b', entry('w-poison', 'p1'))).toBe(false);
});
