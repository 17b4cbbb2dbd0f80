/** `EdgePlacement.spec.rollout` as types. core/apiserver/kinds/rollout-kinds.ts has the schema with the defaults. */
import type { LabelSelector } from '../object/selector.ts';

/** A number of destinations, or a percentage: `3` or `"10%"`. */
export type Amount = number | string;

export interface RolloutSpec {
  readonly strategy: 'All' | 'Progressive' | 'BlueGreen';
  readonly waves?: readonly Wave[];
  readonly maxUnavailable?: Amount;
  readonly errorBudget: Amount;
  readonly ratePerMinute?: number;
  readonly progressDeadlineSeconds: number;
  readonly authorizationSeconds: number;
  readonly onFailure: 'Pause' | 'Rollback';
  readonly paused?: boolean;
}

/** Decides which destinations belong to a wave. Has exactly one of the three fields. */
export interface WaveCondition {
  readonly selector?: LabelSelector;
  readonly fraction?: number;
  readonly count?: number;
}

export interface Wave extends WaveCondition {
  readonly name: string;
  readonly soakSeconds?: number;
  readonly gates?: readonly Gate[];
}

/** Has exactly one of `expression`, `rolloutGate` and `webhook`. */
export interface Gate {
  readonly name?: string;
  readonly expression?: string;
  readonly minimumSample?: number;
  readonly minimumFresh?: number;
  readonly rolloutGate?: string;
  readonly webhook?: Webhook;
}

export interface Webhook {
  readonly url: string;
  /** Default: 10. */
  readonly timeoutSeconds?: number;
  /** Base64 of PEM certificates. */
  readonly caBundle?: string;
}

/** The name of the wave for destinations that belong to none of the user's waves. */
export const restName = 'rest';

export function isStaged(rollout: RolloutSpec | undefined): rollout is RolloutSpec {
  return rollout !== undefined && rollout.strategy !== 'All';
}

export function gateConditionsOf(rollout: RolloutSpec): WaveCondition[] {
  return (rollout.waves ?? []).map(({ selector, fraction, count }) => ({
    ...(selector === undefined ? {} : { selector }),
    ...(fraction === undefined ? {} : { fraction }),
    ...(count === undefined ? {} : { count }),
  }));
}

/** All waves in their order. The rest wave comes last; it is absent if the user's last wave includes every destination. */
export function wavesOf(rollout: RolloutSpec): Wave[] {
  const waves = rollout.waves ?? [];
  const last = waves.at(-1);
  const takesAll = last?.fraction === 1 || (last?.selector !== undefined && isEmpty(last.selector));
  return takesAll ? [...waves] : [...waves, { name: restName }];
}

function isEmpty({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}
