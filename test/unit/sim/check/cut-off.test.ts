import { expect, it } from 'vitest';
import { cutOffBy, keptByRelays, lateTo } from '../../../sim/check/cut-off.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { World } from '../../../sim/world.ts';
import { HandMade } from './hand-made.ts';

const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'r', role: 'relay', labels: {}, spaces: ['ops'] },
  { path: 'r:a', role: 'agent', labels: {}, spaces: [] },
  { path: 's', role: 'relay', labels: {}, spaces: [], replicas: 2 },
];

it('keeps the nodes below a dead line from the entries above it, and not from their own', () => {
  const isCutOff = cutOffBy(new World(1, nodes), ['r', 's']);
  expect([isCutOff('r'), isCutOff('r:a'), isCutOff('')]).toEqual([true, true, false]);
  expect([isCutOff('r:a', 'r'), isCutOff('r', 'r'), isCutOff('r:a', 's')]).toEqual([false, false, true]);
  expect(isCutOff('s')).toBe(false);
});

it('lets a cut-off agent lose objects that its own origin no longer wants there, and nothing else', () => {
  const objects = new Map([['r:a', new Map([['ConfigMap w-r-ops-a/o1', 'v1']])]]);
  const model = { objects, placements: [], waiting: new Set<string>() };
  const late = (dead: readonly string[], entry: string) =>
    lateTo(model, cutOffBy(new World(1, nodes), dead), () => false)('r:a', entry);
  const [kept, gone] = ['o1', 'o2'].map((name) => `o/r.ops//configmaps/w-r-ops-a/${name}`) as [string, string];
  expect([late(['r'], gone), late(['r'], kept)]).toEqual([true, false]);
  expect([late([], gone), late(['r:a'], gone)]).toEqual([false, false]);
  expect(late(['r'], 'o/center.retail//configmaps/w-center-retail-a/o2')).toBe(false);
  const namespace = (name: string) => late(['r'], `o/r.ops//namespaces//${name}`);
  expect([namespace('w-r-ops-a'), namespace('w-r-ops-b')]).toEqual([false, true]);
});

it('lets an agent that a liar has deceived lose objects that nobody wants there, and nothing else', () => {
  const objects = new Map([['r:a', new Map([['ConfigMap w-r-ops-a/o1', 'v1']])]]);
  const isLate = lateTo(
    { objects, placements: [], waiting: new Set<string>() },
    cutOffBy(new World(1, nodes), []),
    (path) => path === 'r:a',
  );
  const entry = (namespace: string, name: string) => `o/r.ops//configmaps/${namespace}/${name}`;
  expect(isLate('r:a', entry('w-poison', 'p1'))).toBe(true);
  expect(isLate('r:a', entry('w-r-ops-a', 'o1'))).toBe(false);
  expect(isLate('r:b', entry('w-poison', 'p1'))).toBe(false);
});

it('lets an agent lose objects that a relay above it keeps and nobody wants, and nothing that is wanted or that no relay has', () => {
  const made = new HandMade(() => ({ name: 'none' }));
  const entry = (name: string) => `o/center.retail//configmaps/w-center-retail-a/${name}`;
  made.commit('r~1', (rows) => {
    rows.table('upstream', 7);
    rows.row(7, entry('o1'), {});
    rows.row(7, entry('o2'), {});
  });
  const objects = new Map([['r:a', new Map([['ConfigMap w-center-retail-a/o1', 'v1']])]]);
  const isLate = lateTo(
    { objects, placements: [], waiting: new Set<string>() },
    cutOffBy(made.world, []),
    keptByRelays(made.world),
  );
  expect(['o1', 'o2', 'o3'].map((name) => isLate('r:a', entry(name)))).toEqual([false, true, false]);
  expect(isLate('s:a', entry('o2'))).toBe(false);
});
