/**
 * More rows than one list of a reconciliation has, at nodes that lose their stores or are restored: the reconciliation needs several splits to find the
 * differences.
 */
import { withReplica } from '../../../core/identity/replica.ts';
import type { Step } from './action.ts';
import type { Chance } from './chance.ts';
import { placementOf, putsOf } from './releases.ts';
import { type PlannedNode, sourceOf } from './tree.ts';

export function comparedOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(0.03)) return [];
  const source = sourceOf(nodes[0]!, 'retail');
  const losable = nodes.slice(1).filter(({ spaces }) => spaces.length === 0);
  const steps: Step[] = [{ atMs: 1_000, action: { do: 'place', source, placement: placementOf(source) } }];
  steps.push(...putsOf(source, 1_500, 20));
  for (let i = 0; i < 3 && losable.length > 0; i++) {
    const { path, replicas = 1 } = chance.of(losable);
    const node = withReplica(path, chance.below(replicas));
    const atMs = 3_000 + chance.below(25_000);
    if (chance.is(0.5)) steps.push({ atMs, action: { do: 'empty', node } });
    else {
      steps.push({ atMs, action: { do: 'backup', node } });
      steps.push({ atMs: atMs + chance.below(8_000), action: { do: 'restore', node } });
    }
  }
  return steps;
}
