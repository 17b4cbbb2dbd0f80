/**
 * The origin's stored state of a placement's rollout, and the changes of this state by a write of an object or of the placement. A new process continues with
 * the stored state, so all times are wall time.
 *
 * A release is one candidate. A release begins when the content first differs from the promoted content. A change after the first wave has begun makes
 * another release, and so does a rollback. Statuses and drawn positions of one release do not count for another release. The number of a release is for
 * people. Each release has the next number.
 *
 * Nodes compare the id of a release. The id is higher than the ids of all earlier releases of a placement with this name. The number would not be enough: if
 * the placement was without waves meanwhile, or was deleted and created again, then nobody knows the earlier numbers. A destination with an earlier release
 * could return later, and its release would look newer than it is.
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
  /** The id that nodes compare. At least twice the revision of the space, so that a rollback, which does not write to the space, can use the next id. */
  readonly id: number;
  /** The number of the release. */
  readonly release: number;
  readonly phase: Phase;
  /** The greatest authorised wave. -1: no wave. */
  readonly wave: number;
  /** The greatest wave that has passed its soak and its gates. */
  readonly passed: number;
  readonly drawn: Drawn;
  readonly lease: number;
  readonly leaseAtMs: number;
  readonly target: number;
  readonly promotedTarget: number;
  /** Number of objects, and of Customizers that change them, that differ from the promoted form. */
  readonly held: number;
  /** The placement's generation, and its waves as text, at the newest write of the placement that this state includes. */
  readonly generation: number;
  readonly plan: string;
  /** Time of the newest change of the content. */
  readonly changedAtMs: number;
  /** Time of the newest progress, from which the progress deadline counts, and the amount of progress at that time. */
  readonly progressAtMs: number;
  readonly progress: number;
  /** Time since which no destination of the wave is connected. */
  readonly awayAtMs?: number;
  /** Time since which all destinations of the wave are done. */
  readonly doneAtMs?: number;
  /** Why the rollout does not continue without a person. */
  readonly stopped?: { readonly reason: StopReason; readonly message: string };
}

/** The state of a placement that becomes staged. The present objects of its destinations count as promoted. */
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

/** The state after a change of an object of the placement. `held`: the number of objects that differ from the promoted form. */
export function contentChanged(state: RolloutState, held: number, revision: number, nowMs: number): RolloutState {
  if (held === 0) return withPromotion({ ...state, held });
  const withPromotedTarget =
    state.held === 0 ? { ...state, promotedTarget: Math.min(state.promotedTarget, revision - 1) } : state;
  // One command may write several objects, one after the other. All its writes are one release.
  if (isUntouched(state)) return { ...state, held, changedAtMs: nowMs, progressAtMs: nowMs };
  return nextRelease({ ...withPromotedTarget, held }, nowMs, revision);
}

/** The state after a write of the placement. A stopped rollout then continues. If the waves have changed, the rollout begins again with the first wave. */
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

/** True: no destination has the release yet. */
function isUntouched({ held, phase, wave }: RolloutState): boolean {
  return held > 0 && phase === 'Progressing' && wave === -1;
}

/** The state after a change of the target revision. If nothing is held back, the promoted target changes too. */
export function targetMoved(state: RolloutState, target: number): RolloutState {
  return { ...state, target, ...(state.held === 0 ? { promotedTarget: target } : {}) };
}

/** The state after a promotion: every destination gets the present objects of the source. */
export function withPromotion(state: RolloutState): RolloutState {
  const { stopped: _stopped, doneAtMs: _doneAtMs, awayAtMs: _awayAtMs, ...rest } = state;
  return { ...rest, phase: 'Promoted', held: 0, wave: -1, passed: -1, drawn: null, promotedTarget: state.target };
}

/**
 * The state with a new release. `revision`: the space's revision of the write; absent if there was no write. `awayAtMs` is removed, so that the wait for
 * destinations that are away begins again.
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
