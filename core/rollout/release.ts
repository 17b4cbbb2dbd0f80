/**
 * What the origin tells the last hops of a release: the attributes of the `r/` row. Of constant size for each wave, and all that a last hop needs to
 * decide: conditions, limits, how far it may go, and until when.
 */
import type { Amount, RolloutSpec, WaveCondition } from './spec.ts';
import { gateConditionsOf } from './spec.ts';
import type { RolloutState } from './state.ts';
import type { Drawn } from './waves.ts';

export interface ReleaseAttributes {
  /** Name of the placement: the row goes where the placement goes. */
  readonly refs: readonly string[];
  /** Its id (state.ts): what nodes compare. */
  readonly release: number;
  /** For people. */
  readonly number: number;
  readonly salt: string;
  /** The greatest wave that may be handed out; -1: none. */
  readonly wave: number;
  /** Nothing more is handed out: paused, or failed. */
  readonly halted: boolean;
  readonly waves: readonly WaveCondition[];
  readonly drawn: Drawn;
  readonly maxUnavailable?: Amount;
  readonly errorBudget: Amount;
  readonly ratePerMinute?: number;
  /** Grows while the release goes on; a last hop that has not seen it grow for `authorizationSeconds` hands out nothing more. */
  readonly lease: number;
  readonly authorizationSeconds: number;
  /** Destinations of the placement in all, for a last hop's share of the limits. */
  readonly expected: number;
  /** Of the candidate, and of what was promoted last: see TargetAttributes. */
  readonly target: number;
  readonly promotedTarget: number;
  /** Objects and Customizers whose candidate differs from what was promoted. */
  readonly held: number;
  /** Of the rows that the release is about: who has others has not got all of them yet. */
  readonly digest: string;
  /** The same of the Customizers that they are made with. */
  readonly customizerDigest: string;
  /** It was taken back: what everybody is to have is what was promoted. */
  readonly rolledBack?: true;
}

export function releaseOf(
  name: string,
  uid: string,
  rollout: RolloutSpec,
  state: RolloutState,
  expected: number,
  digests: Pick<ReleaseAttributes, 'digest' | 'customizerDigest'>,
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
    ...digests,
    ...(state.phase === 'RolledBack' ? { rolledBack: true } : {}),
  };
}

/** Nothing is held back: everybody gets what the source has. */
export function isPromoted(release: ReleaseAttributes): boolean {
  return release.held === 0;
}
