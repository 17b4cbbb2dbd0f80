/** Certificates that expire while their nodes are connected. They are renewed before or after they expire. */
import { type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import type { PlannedNode } from './tree.ts';

export function certificatesOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(0.03)) return [];
  const { path: node } = chance.of(nodes);
  const atMs = 1_500 + chance.below(spanMs / 2);
  const validMs = 2_000 + chance.below(15_000);
  return [
    { atMs, action: { do: 'certify', node, validMs } },
    // A connection that is made meanwhile ends because the certificate expires.
    { atMs: atMs + 100, action: node === '' ? { do: 'end', node } : { do: 'reset', node } },
    { atMs: atMs + chance.below(2 * validMs), action: { do: 'certify', node } },
  ];
}
