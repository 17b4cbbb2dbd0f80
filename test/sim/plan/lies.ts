/** Nodes that are replaced by liars for a while. */
import { type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import type { PlannedNode } from './tree.ts';

export function liesOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(0.25)) return [];
  const { path: node } = chance.of(nodes);
  const atMs = 2_000 + chance.below(spanMs / 2);
  return [
    { atMs, action: { do: 'lie', node, chance: chance.below(2 ** 31) } },
    { atMs: atMs + 3_000 + chance.below(17_000), action: { do: 'truth', node } },
  ];
}
