/**
 * The attributes of the `r/` row, which the origin sends to the last hops for each release. They have everything that a last hop needs for its decisions:
 * conditions, limits, the greatest authorised wave, and the duration of the authorisation. Their size is constant for each wave.
 */
import type { Amount, RolloutSpec, WaveCondition } from './spec.ts';
import { gateConditionsOf } from './spec.ts';
import type { RolloutState } from './state.ts';
import type { Drawn } from './waves.ts';

export interface ReleaseAttributes {
  /** Name of the placement, because the row goes to the same nodes as the placement. */
  readonly refs: readonly string[];
  /** The id of the release (state.ts). Nodes compare ids. */
  readonly release: number;
  /** The number that people see. */
  readonly number: number;
  readonly salt: string;
  /** The greatest wave that may get the release. -1: no wave. */
  readonly wave: number;
  /** True: the release is paused or has failed. No further destination gets it. */
  readonly halted: boolean;
  readonly waves: readonly WaveCondition[];
  readonly drawn: Drawn;
  readonly maxUnavailable?: Amount;
  readonly errorBudget: Amount;
  readonly ratePerMinute?: number;
  /** Grows with each authorised wave and each renewal. If a last hop gets no higher lease for `authorizationSeconds`, it hands out nothing more. */
  readonly lease: number;
  readonly authorizationSeconds: number;
  /** Number of all destinations of the placement. A last hop computes its share of the limits with it. */
  readonly expected: number;
  /** Target revisions of the candidate and of the promoted objects; see TargetAttributes. */
  readonly target: number;
  readonly promotedTarget: number;
  /** Number of objects and Customizers whose candidate differs from the promoted form. */
  readonly held: number;
  /** Digest of the rows of the release. If the rows of a node have another digest, the node has not received all of them yet. */
  readonly digest: string;
  /** True: the release was rolled back. Every destination has to get the promoted form. */
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

/** True: no object is held back, so every destination gets the present objects of the source. */
export function isPromoted(release: ReleaseAttributes): boolean {
  return release.held === 0;
}
