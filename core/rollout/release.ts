/**
 * What the origin sends to the last hops about a release: the attributes of the `r/` row. Their size is constant for each wave. They hold all that a last hop
 * needs to decide: conditions, limits, the greatest authorised wave, and how long the authorisation lasts.
 */
import type { Amount, RolloutSpec, WaveCondition } from './spec.ts';
import { gateConditionsOf } from './spec.ts';
import type { RolloutState } from './state.ts';
import type { Drawn } from './waves.ts';

export interface ReleaseAttributes {
  /** Name of the placement: the row goes to the same nodes as the placement. */
  readonly refs: readonly string[];
  /** The id of the release (state.ts). Nodes compare ids. */
  readonly release: number;
  /** The number that people see. */
  readonly number: number;
  readonly salt: string;
  /** The greatest wave that may get the release; -1: none. */
  readonly wave: number;
  /** The release is paused or has failed: no further destination gets it. */
  readonly halted: boolean;
  readonly waves: readonly WaveCondition[];
  readonly drawn: Drawn;
  readonly maxUnavailable?: Amount;
  readonly errorBudget: Amount;
  readonly ratePerMinute?: number;
  /** Grows while the release continues. A last hop that has not seen it grow for `authorizationSeconds` hands out nothing more. */
  readonly lease: number;
  readonly authorizationSeconds: number;
  /** All destinations of the placement, for a last hop's share of the limits. */
  readonly expected: number;
  /** Target revisions of the candidate and of the last promoted state: see TargetAttributes. */
  readonly target: number;
  readonly promotedTarget: number;
  /** Number of objects and Customizers whose candidate differs from the promoted form. */
  readonly held: number;
  /** Digest of the rows that the release is about. A node whose rows have another digest has not received all of them yet. */
  readonly digest: string;
  /** The release was taken back: every destination is to have the promoted form. */
  readonly rolledBack?: true;
}

export function releaseOf(
  name: string,
  uid: string,
  rollout: RolloutSpec,
  state: RolloutState,
  expected: number,
  digest: string,
): ReleaseAttributes {
  return {
    refs: [name],
    release: state.id,
    number: state.release,
    salt: `${uid}/${state.release}`,
    wave: state.wave,
    halted: rollout.paused === true || state.stopped !== undefined,
    waves: gateConditionsOf(rollout),
    drawn: state.drawn,
    ...(rollout.maxUnavailable === undefined ? {} : { maxUnavailable: rollout.maxUnavailable }),
    errorBudget: rollout.errorBudget,
    ...(rollout.ratePerMinute === undefined ? {} : { ratePerMinute: rollout.ratePerMinute }),
    lease: state.lease,
    authorizationSeconds: rollout.authorizationSeconds,
    expected,
    target: state.target,
    promotedTarget: state.promotedTarget,
    held: state.held,
    digest,
    ...(state.phase === 'RolledBack' ? { rolledBack: true } : {}),
  };
}

/** Nothing is held back: every destination gets what the source has. */
export function isPromoted(release: ReleaseAttributes): boolean {
  return release.held === 0;
}
