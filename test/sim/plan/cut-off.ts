/** Replicas that serve although they receive nothing from the root. This lasts so long that their children look for the root at another replica. */
import { withReplica } from '../../../core/identity/replica.ts';
import type { Step } from './action.ts';
import type { Chance } from './chance.ts';
import type { PlannedNode } from './tree.ts';

/**
 * How long a replica is cut off. A child leaves a replica when the age of the root is three minutes, after a wait of up to a minute. Then it receives the
 * rows of the other replica.
 */
const [lastsMinMs, lastsMaxMs] = [200_000, 420_000];

/** After this time, a child has gone back to its home. It stays ten to twenty minutes at another replica, or twice that time if the home was cut off. */
const homewardMs = 2_000_000;

export function cutOffOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  const places = nodes.filter(({ replicas }) => replicas !== undefined);
  if (places.length === 0 || !chance.is(0.08)) return [];
  const { path, replicas = 1 } = chance.of(places);
  const steps: Step[] = [];
  // In half of the plans, some children of the replica are at another replica than their home when the fault begins.
  if (chance.is(0.5)) {
    const node = withReplica(path, chance.below(replicas));
    steps.push({ atMs: 2_000, action: { do: 'stop', node } }, { atMs: 12_000, action: { do: 'start', node } });
  }
  // A child that has found another replica goes back to its home by itself.
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
