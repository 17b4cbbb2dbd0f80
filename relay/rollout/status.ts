/** What the status of an EdgePlacement says of its rollout. */
import type { NewCondition } from '../../core/object/conditions.ts';
import type { Outcome } from '../../core/rollout/controller.ts';
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

export function rolloutStatus({ state, message, wave, counts }: Outcome): RolloutStatus {
  const { release, phase } = state;
  if (!wave) return { release, phase, message };
  const { fresh: expected, exposed, available, failed } = counts;
  return { release, phase, wave: wave.name, message, expected, exposed, available, failed };
}

/** As of a Deployment: True while it gets on and when it has, Unknown while somebody has paused it, False when it has failed. */
export function progressing({ state, message }: Outcome): NewCondition {
  const { phase, stopped } = state;
  if (stopped) return { type: progressingType, status: 'False', reason: stopped.reason, message };
  return { type: progressingType, status: phase === 'Paused' ? 'Unknown' : 'True', reason: phase, message };
}
