import { expect, it } from 'vitest';
import { totals } from '../../../sim/check/totals.ts';
import type { PlannedNode } from '../../../sim/plan/tree.ts';
import { WrittenWorld } from '../written.ts';

/** After the number of a space, as its storage joins it. */
const at = '\u0000\u0000\u0000\u0001edge.banyan.io\u0000edgeplacements\u0000\u0000shop';

const places: PlannedNode[] = ['a', 'b', 'c'].map((path) => ({ path, role: 'agent', labels: {}, spaces: [] }));

it.each([
  [{ expected: 3, fresh: 1, stale: 1, never: 1, quarantined: 0 }, 0],
  [{ expected: 3, fresh: 2, stale: 2, never: 0, quarantined: 0 }, 1],
  [{ expected: 4, fresh: 2, stale: 2, never: 0, quarantined: 0 }, 1],
])('checks the totals that a node writes for a placement: %o', (summary, violations) => {
  const written = new WrittenWorld([{ path: '', role: 'center', labels: {}, spaces: ['retail'] }, ...places], totals);
  written.note('', 'spaceObject', at, { metadata: { name: 'shop' }, status: { summary } }, Buffer.alloc(6));
  expect(written.messages).toHaveLength(violations);
});
