import { expect, it } from 'vitest';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { mayBeFromLiar, wayOf } from '../../../sim/talk/way.ts';
import { World } from '../../../sim/world.ts';

const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: [] },
  { path: 'r', role: 'relay', labels: {}, spaces: [] },
  { path: 'r:a', role: 'agent', labels: {}, spaces: [] },
  { path: 'b', role: 'agent', labels: {}, spaces: [] },
];

it('goes up to the first node that has both ends at or below it, and down', () => {
  expect([...wayOf('r:q:a', 'r:b')]).toEqual(['r', 'r:q', 'r:q:a', 'r:b']);
  expect([...wayOf('r', 'b')]).toEqual(['', 'r', 'b']);
  expect([...wayOf('', 'r:a')]).toEqual(['', 'r', 'r:a']);
  expect([...wayOf('r:a', 'r:a')]).toEqual(['r:a']);
});

it('may carry lies from when the talk began, and only if the liar is on the way', () => {
  const world = new World(1, nodes);
  const relay = world.hosts.get('r')!;
  const brings = (from: string, to: string, atMs: number) => mayBeFromLiar(world, { from, to, atMs });
  expect(brings('', 'r:a', 5)).toBe(false);
  relay.liar = { chance: 1, atLimits: false };
  expect([brings('', 'r:a', 5), brings('', 'b', 5)]).toEqual([true, false]);
  relay.liar = undefined;
  relay.liarUntilMs = 7;
  expect([brings('', 'r:a', 5), brings('', 'r:a', 8)]).toEqual([true, false]);
});
