import { expect, it } from 'vitest';
import { standing, standingAmong } from '../../../sim/check/standing.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { WrittenWorld } from '../written.ts';

const nodes: PlannedNode[] = [
  { path: '', role: 'center', labels: {}, spaces: ['retail'] },
  { path: 'r', role: 'relay', labels: {}, spaces: [], replicas: 2 },
  { path: 'r:q', role: 'relay', labels: {}, spaces: [] },
  { path: 'r:a', role: 'agent', labels: {}, spaces: [] },
];

/** The replicas' reports about the relay below them (the sequence of its attachment), and the lines that stay dead. */
function found(reported: Readonly<Record<string, number>>, ...dead: readonly string[]): string[] {
  const written = new WrittenWorld(nodes);
  const { world } = written;
  for (const [replica, sequence] of Object.entries(reported))
    written.put('', `reported/${replica}`, { key: 'attach/q', attributes: { sequence, role: 'relay' } });
  for (const id of dead) {
    const host = written.host(id);
    for (const parent of world.parentsOf(host)) world.network.line(host, parent).cut = true;
  }
  return standing(world, (path) => dead.includes(path) && path !== 'r');
}

it('stands if a replica is away together with a relay that attached to it last', () => {
  expect(found({ r: 6, 'r~1': 5 }, 'r', 'r:q')).toEqual(['r']);
  expect(found({ 'r~1': 5 }, 'r~1', 'r:q')).toEqual(['r']);
});

it('does not stand if the relay is there, was at the other replica last, or at none, or the replica is there', () => {
  expect(found({ r: 6 }, 'r')).toEqual([]);
  expect(found({ r: 6, 'r~1': 7 }, 'r', 'r:q')).toEqual([]);
  expect(found({}, 'r', 'r:q')).toEqual([]);
  expect(found({ r: 6 }, 'r:q')).toEqual([]);
});

it('concerns the places below, of placements above', () => {
  expect(standingAmong(['r'], ['r:a', 'b'], '')).toBe(1);
  expect(standingAmong(['r'], ['r:a', 'r:q:b'], 'r:q')).toBe(0);
});
