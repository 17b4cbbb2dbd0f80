/** Processes that get a signal and end properly: for an update, which starts the next process at once, or for a longer time. */
import { withReplica } from '../../../core/identity/replica.ts';
import { type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import type { PlannedNode } from './tree.ts';

export function endingsOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(0.03)) return [];
  return Array.from({ length: 1 + chance.below(3) }, () => endingOf(chance, chance.of(nodes))).flat();
}

function endingOf(chance: Chance, { path, replicas = 1 }: PlannedNode): Step[] {
  const atMs = 2_000 + chance.below(spanMs - 2_000);
  const node = withReplica(path, chance.below(replicas));
  if (chance.is(0.6)) return [{ atMs, action: { do: 'end', node } }];
  return [
    { atMs, action: { do: 'end', node, stays: true } },
    { atMs: atMs + chance.below(20_000), action: { do: 'start', node } },
  ];
}
