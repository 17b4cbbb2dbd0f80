/**
 * What the origin remembers of the rollout of a placement, and how a write of an object or of the placement changes it. All of it is durable, so that a
 * start of the process goes on where the last one ended; times are wall time for that reason.
 *
 * A release is one candidate: it begins when the content differs from what was promoted, anew when it changes after a wave has begun, and once more
 * when it is taken back. Statuses and what was drawn of one release say nothing of another. Its number is for people and counts on from the last one.
 * Nodes compare its id, which is above that of every former release of a placement of this name: whoever was handed one of those may come back late,
 * when the placement has been without waves in between, or deleted and made again, and nothing remembers their numbers.
 */
import type { Drawn } from './waves.ts';

export type Phase =
  | 'Promoted'
  | 'Progressing'
  | 'Soaking'
  | 'WaitingForGate'
  | 'WaitingForApproval'
  | 'Paused'
  | 'RolledBack';

export type StopReason = 'ErrorBudgetSpent' | 'ProgressDeadlineExceeded' | 'GateFailed';

export interface RolloutState {
  /** What nodes compare. Twice the revision of the space at least: a rollback takes the next one, and writes nothing. */
  readonly id: number;
  /** Its number. */
  readonly release: number;
  readonly phase: Phase;
  /** The greatest wave that is authorised; -1: none. */
  readonly wave: number;
  /** The greatest wave that is through with its soak and its gates. */
  readonly passed: number;
  readonly drawn: Drawn;
  readonly lease: number;
  readonly leaseAtMs: number;
  readonly target: number;
  readonly promotedTarget: number;
  /** Objects, and Customizers that they are made with, that differ from what was promoted. */
  readonly held: number;
  /** Of the placement, when it was looked at last, and its waves as text. */
  readonly generation: number;
  readonly plan: string;
  /** When the content changed last. */
  readonly changedAtMs: number;
  /** When the rollout got on last, and how far it was then: what the progress deadline counts from. */
  readonly progressAtMs: number;
  readonly progress: number;
  /** Since when none of those that the wave is about is connected. */
  readonly awayAtMs?: number;
  /** Since when the destinations of the wave are all done. */
  readonly doneAtMs?: number;
  /** Why it does not go on by itself. */
  readonly stopped?: { readonly reason: StopReason; readonly message: string };
}

/** Of a placement whose rollout is staged from now on: what its destinations have counts as promoted. */
export function initialState(
  generation: number,
  plan: string,
  nowMs: number,
  { revision, release }: { readonly revision: number; readonly release: number },
): RolloutState {
  return {
    id: 2 * revision,
    release,
    phase: 'Promoted',
    wave: -1,
    passed: -1,
    drawn: null,
    lease: 0,
    leaseAtMs: 0,
    target: 0,
    promotedTarget: 0,
    held: 0,
    generation,
    plan,
    changedAtMs: nowMs,
    progressAtMs: nowMs,
    progress: 0,
  };
}

/** An object of the placement has another content now; `held` differ from what was promoted. */
export function contentChanged(state: RolloutState, held: number, revision: number, nowMs: number): RolloutState {
  if (held === 0) return withPromotion({ ...state, held });
  const begun = state.held === 0 ? { ...state, promotedTarget: Math.min(state.promotedTarget, revision - 1) } : state;
  // What one command writes, object by object, is one release.
  if (isUntouched(state)) return { ...state, held, changedAtMs: nowMs, progressAtMs: nowMs };
  return nextRelease({ ...begun, held }, nowMs, revision);
}

/** The placement was written. Whoever changes it wants a stopped rollout to go on, and other waves to be gone through from the start. */
export function specChanged(
  state: RolloutState,
  generation: number,
  plan: string,
  nowMs: number,
  revision: number,
): RolloutState {
  if (state.generation === generation) return state;
  const seen = { ...state, generation, plan };
  if (state.held === 0) return seen;
  if (isUntouched(state)) return { ...seen, changedAtMs: nowMs, progressAtMs: nowMs };
  if (state.phase === 'RolledBack' || state.plan !== plan) return nextRelease(seen, nowMs, revision);
  const { stopped: _stopped, ...rest } = seen;
  return { ...rest, progressAtMs: nowMs };
}

/** A release of which nothing was handed out yet. */
function isUntouched({ held, phase, wave }: RolloutState): boolean {
  return held > 0 && phase === 'Progressing' && wave === -1;
}

/** What statuses are exact for has moved; while nothing is held back, everybody follows. */
export function targetMoved(state: RolloutState, target: number): RolloutState {
  return { ...state, target, ...(state.held === 0 ? { promotedTarget: target } : {}) };
}

/** Everybody gets what the source has. */
export function withPromotion(state: RolloutState): RolloutState {
  const { stopped: _stopped, doneAtMs: _doneAtMs, awayAtMs: _awayAtMs, ...rest } = state;
  return { ...rest, phase: 'Promoted', held: 0, wave: -1, passed: -1, drawn: null, promotedTarget: state.target };
}

/** `revision`: of what was written; absent, nothing was. Who was away from a wave of the one before says nothing of this one's. */
export function nextRelease(state: RolloutState, nowMs: number, revision = 0): RolloutState {
  const { stopped: _stopped, doneAtMs: _doneAtMs, awayAtMs: _awayAtMs, ...rest } = state;
  return {
    ...rest,
    id: Math.max(state.id + 1, 2 * revision),
    release: state.release + 1,
    phase: 'Progressing',
    wave: -1,
    passed: -1,
    drawn: null,
    changedAtMs: nowMs,
    progressAtMs: nowMs,
    progress: 0,
  };
}
