/** Siblings that serve while they hear nothing of the root, for so long that their children look for it elsewhere. */
import { withReplica } from '../../../core/identity/replica.ts';
import type { Step } from './action.ts';
import type { Chance } from './chance.ts';
import type { PlannedNode } from './tree.ts';

/** Three minutes old is what a child does not bear; then it waits for up to a minute, and hears what the other one has heard. */
const [lastsMinMs, lastsMaxMs] = [200_000, 420_000];

/** Ten to twenty minutes elsewhere, or twice that where home was what was cut off. */
const homewardMs = 2_000_000;

export function cutOffOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  const places = nodes.filter(({ replicas }) => replicas !== undefined);
  if (places.length === 0 || !chance.is(0.08)) return [];
  const { path, replicas = 1 } = chance.of(places);
  const steps: Step[] = [];
  // Some of its children are at another one than their home when it begins.
  if (chance.is(0.5)) {
    const node = withReplica(path, chance.below(replicas));
    steps.push({ atMs: 2_000, action: { do: 'stop', node } }, { atMs: 12_000, action: { do: 'start', node } });
  }
  // One that has found another place goes home by itself, later.
  if (chance.is(0.2)) {
    const node = withReplica(path, 0);
    steps.push({ atMs: homewardMs, action: { do: 'mend', node } });
  }
  const all = chance.is(0.4);
  const one = chance.below(replicas);
  for (let i = 0; i < replicas; i++) {
    if (!all && i !== one) continue;
    const node = withReplica(path, i);
    const atMs = 15_000 + chance.below(10_000);
    const lastsMs = lastsMinMs + chance.below(lastsMaxMs - lastsMinMs);
    steps.push({ atMs, action: { do: 'cut', node } }, { atMs: atMs + lastsMs, action: { do: 'mend', node } });
  }
  return steps;
}
