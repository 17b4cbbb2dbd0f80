/** A person watches the mailbox of a child. */
import { withReplica } from '../../../core/identity/replica.ts';
import { type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { type PlannedNode, parentOf } from './tree.ts';

const watchesMax = 3;

export function watchesOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(0.3)) return [];
  return Array.from({ length: 1 + chance.below(watchesMax) }, () => {
    const { path, replicas = 1 } = chance.of(nodes.slice(1));
    const parent = nodes.find((node) => node.path === parentOf(path))!;
    const node = withReplica(parent.path, chance.below(parent.replicas ?? 1));
    const child = withReplica(path.slice(path.lastIndexOf(':') + 1), chance.below(replicas));
    return { atMs: 1_500 + chance.below(spanMs), action: { do: 'watch', node, child } };
  });
}
