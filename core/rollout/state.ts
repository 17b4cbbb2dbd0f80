/**
 * What the origin remembers of the rollout of a placement, and how a write of an object or of the placement changes it. The state is durable: a new process
 * continues where the last one ended. So all times are wall time.
 *
 * A release is one candidate. A release begins when the content first differs from the promoted content. A change after the first wave has begun makes
 * another release, and so does a rollback. Statuses and drawn positions of one release do not count for another release. The number of a release is for
 * people, and counts on from the last release.
 *
 * Nodes compare the id of a release. The id is above the id of every former release of a placement of this name. Otherwise a destination with a former
 * release could come back later and look as new: the placement may have been without waves in between, or deleted and made again, and then nothing remembers
 * the former numbers.
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
  /** The id that nodes compare. At least twice the revision of the space, because a rollback takes the next id without a write to the space. */
  readonly id: number;
  /** The number of the release. */
  readonly release: number;
  readonly phase: Phase;
  /** The greatest wave that is authorised; -1: none. */
  readonly wave: number;
  /** The greatest wave that has passed its soak and its gates. */
  readonly passed: number;
  readonly drawn: Drawn;
  readonly lease: number;
  readonly leaseAtMs: number;
  readonly target: number;
  readonly promotedTarget: number;
  /** Number of objects, and of Customizers that they are made with, that differ from the promoted form. */
  readonly held: number;
  /** The placement's generation when the controller last looked, and the placement's waves as text. */
  readonly generation: number;
  readonly plan: string;
  /** When the content changed last. */
  readonly changedAtMs: number;
  /** When the rollout last made progress, and how far it was then. The progress deadline counts from here. */
  readonly progressAtMs: number;
  readonly progress: number;
  /** Since when no destination that the wave is about is connected. */
  readonly awayAtMs?: number;
  /** Since when all destinations of the wave are done. */
  readonly doneAtMs?: number;
  /** Why the rollout does not continue by itself. */
  readonly stopped?: { readonly reason: StopReason; readonly message: string };
}

/** The state of a placement that becomes staged now. What its destinations have counts as promoted. */
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

/** The content of an object of the placement has changed. `held` objects differ from the promoted form. */
export function contentChanged(state: RolloutState, held: number, revision: number, nowMs: number): RolloutState {
  if (held === 0) return withPromotion({ ...state, held });
  const withPromotedTarget =
    state.held === 0 ? { ...state, promotedTarget: Math.min(state.promotedTarget, revision - 1) } : state;
  // The writes of one command, object by object, are one release.
  if (isUntouched(state)) return { ...state, held, changedAtMs: nowMs, progressAtMs: nowMs };
  return nextRelease({ ...withPromotedTarget, held }, nowMs, revision);
}

/** The placement was written. A person who changes it wants a stopped rollout to continue, and changed waves to start from the first one. */
export function specChanged(
  state: RolloutState,
  generation: number,
  plan: string,
  nowMs: number,
  revision: number,
): RolloutState {
  if (state.generation === generation) return state;
  const withSpec = { ...state, generation, plan };
  if (state.held === 0) return withSpec;
  if (isUntouched(state)) return { ...withSpec, changedAtMs: nowMs, progressAtMs: nowMs };
  if (state.phase === 'RolledBack' || state.plan !== plan) return nextRelease(withSpec, nowMs, revision);
  const { stopped: _stopped, ...rest } = withSpec;
  return { ...rest, progressAtMs: nowMs };
}

/** A release that was handed to nobody yet. */
function isUntouched({ held, phase, wave }: RolloutState): boolean {
  return held > 0 && phase === 'Progressing' && wave === -1;
}

/** The target of statuses has moved. While nothing is held back, every destination follows. */
export function targetMoved(state: RolloutState, target: number): RolloutState {
  return { ...state, target, ...(state.held === 0 ? { promotedTarget: target } : {}) };
}

/** Every destination gets what the source has. */
export function withPromotion(state: RolloutState): RolloutState {
  const { stopped: _stopped, doneAtMs: _doneAtMs, awayAtMs: _awayAtMs, ...rest } = state;
  return { ...rest, phase: 'Promoted', held: 0, wave: -1, passed: -1, drawn: null, promotedTarget: state.target };
}

/**
 * `revision`: the space's revision of the write; absent if there was no write. `awayAtMs` is dropped: destinations that were away from a wave of the former
 * release start their wait anew.
 */
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
