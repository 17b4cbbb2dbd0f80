/** Nodes of older builds among newer ones, which speak the highest version that both know, and some that are updated in the middle. */
import { withReplica } from '../../../core/identity/replica.ts';
import { type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { placementOf, putsOf } from './releases.ts';
import { type PlannedNode, sourceOf } from './tree.ts';

export function olderOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(0.05)) return [];
  const steps: Step[] = [];
  for (const { path, replicas = 1 } of nodes) {
    for (let i = 0; i < replicas; i++) if (chance.is(0.5)) steps.push(...olderNodeOf(chance, withReplica(path, i)));
  }
  if (chance.is(0.6)) steps.push(...reconciledOf(chance, nodes));
  return steps;
}

function olderNodeOf(chance: Chance, node: string): Step[] {
  const first: Step = { atMs: 0, action: { do: 'speak', node, version: chance.is(0.3) ? 1 : 2 } };
  if (chance.is(0.5)) return [first];
  const atMs = 5_000 + chance.below(spanMs);
  return [first, { atMs, action: { do: 'speak', node } }, { atMs: atMs + 1, action: { do: 'end', node } }];
}

/** More rows than a list has, which several nodes then have to compare. */
function reconciledOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
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
