/** The part of an EdgePlacement's status that is about its rollout. */
import type { NewCondition } from '../../core/object/conditions.ts';
import type { RolloutStep } from '../../core/rollout/controller.ts';
import { isPromoted, type ReleaseAttributes } from '../../core/rollout/release.ts';
import type { Phase } from '../../core/rollout/state.ts';

export interface RolloutStatus {
  readonly release: number;
  readonly phase: Phase;
  readonly wave?: string;
  readonly message: string;
  readonly expected?: number;
  readonly exposed?: number;
  readonly available?: number;
  readonly failed?: number;
}

export const progressingType = 'Progressing';

export function rolloutStatus({ state, message, wave, counts }: RolloutStep): RolloutStatus {
  const { release, phase } = state;
  if (!wave) return { release, phase, message };
  const { fresh: expected, exposed, available, failed } = counts;
  return { release, phase, wave: wave.name, message, expected, exposed, available, failed };
}

/** Returns the rollout as a node below the origin knows it: to which agents it may hand the release, and how old its authorisation is. */
export function rolloutBelow(
  release: ReleaseAttributes,
  here: { readonly isWhole: boolean; readonly exposed: number; readonly ageMs: number | undefined },
): RolloutStatus {
  const { number, wave } = release;
  const base = { release: number, exposed: here.exposed };
  if (isPromoted(release)) return { ...base, phase: 'Promoted', message: `release ${number} is promoted` };
  if (release.rolledBack) {
    return {
      ...base,
      phase: 'RolledBack',
      message: 'rolled back: every destination gets the objects that were promoted before',
    };
  }
  if (!here.isWhole) {
    return {
      ...base,
      phase: 'Progressing',
      message: 'waits for the rest of the release: until then, agents keep what they have',
    };
  }
  const handed = `handed to ${here.exposed} agents of this node`;
  if (release.halted) return { ...base, phase: 'Paused', message: `${handed}; halted by the origin` };
  if (wave < 0) return { ...base, phase: 'Progressing', message: 'no wave is authorised yet' };
  const upTo = `${handed}; authorised up to wave ${wave + 1}`;
  const limitMs = release.authorizationSeconds * 1000;
  if (here.ageMs === undefined || here.ageMs >= limitMs) {
    // No age: watchers get the status when it changes, and an age would change all the time.
    const limit = `${release.authorizationSeconds} s (spec.rollout.authorizationSeconds)`;
    const since = here.ageMs === undefined ? 'since the start of this node' : `for more than ${limit}`;
    const message = `${upTo}, and no further: no report of the origin ${since}`;
    return { ...base, phase: 'Progressing', message };
  }
  return { ...base, phase: 'Progressing', message: upTo };
}

/** Like the condition of a Deployment: True while the rollout goes on and when it has ended, Unknown while it is paused, False when it has failed. */
export function progressing({ state, message }: RolloutStep): NewCondition {
  const { phase, stopped } = state;
  if (stopped) return { type: progressingType, status: 'False', reason: stopped.reason, message };
  return { type: progressingType, status: phase === 'Paused' ? 'Unknown' : 'True', reason: phase, message };
}
