/**
 * From a status partial to the `.status` that people and tools read. The promise: a tool that judges the object by this status says that the object is ready
 * exactly when the object is available at every destination, and that it has failed when it has failed at one. docs/reference/aggregated-status.md names the
 * exceptions, decision 0047 has the reasons.
 */
import { health } from '../object/health.ts';
import type { Condition, KubeObject } from '../object/meta.ts';
import { aggregatedConditions, type StatusCondition } from './aggregated-conditions.ts';
import { aggregatedFields, type WantedNumbers } from './aggregated-fields.ts';
import type { Status } from './destination-status.ts';
import type { StatusPartial } from './status-partial.ts';
import { otherKinds, type StatusRules } from './status-rules.ts';
import { type StatusVerdict, verdictOf } from './verdict.ts';

export interface AggregateInput {
  readonly rules: StatusRules;
  /** The object of the space. Only `metadata.generation` and `spec` are read, and what the rules of core/object/health.ts read. */
  readonly object: KubeObject;
  readonly partial: StatusPartial;
  /** The release with the present form of the object was rolled back: the destinations have a former form. */
  readonly isRolledBack: boolean;
}

/** Returns the status. Undefined: there is nothing to say, because there is no destination, or because the kind has no status. */
export function aggregatedStatus(input: AggregateInput): Status | undefined {
  const { rules, partial, object, isRolledBack } = input;
  const verdict = verdictOf(rules, partial, isRolledBack);
  if (verdict.destinations === 0) return undefined;
  const asReported = isRolledBack ? undefined : reportedAlone(input);
  if (asReported) return asReported;
  const conditions = aggregatedConditions(rules, partial, verdict, isRolledBack);
  const status = {
    ...aggregatedFields(rules, partial, verdict, wantedNumbers(object)),
    ...(observes(rules, partial) ? { observedGeneration: observedGeneration(input, verdict) } : {}),
    ...(conditions.length > 0 ? { conditions } : {}),
  };
  return Object.keys(status).length > 0 ? status : undefined;
}

/**
 * The status of the only destination, unchanged. Undefined: there are more destinations, or a tool might read another result from the status than the node.
 * This happens if the destination has another number of replicas, if it is not connected, or if it does not have the present form of the object. Tools read
 * more results from the counts of a kind of the table than the rules of core/object/health.ts, so these kinds are only shown unchanged when all is well.
 */
function reportedAlone({ object, rules, partial }: AggregateInput): Status | undefined {
  const { only, counts } = partial;
  if (!only) return undefined;
  const { state } = health({ ...object, status: only });
  if (counts.available === 1) return state === 'Current' ? only : undefined;
  if (rules !== otherKinds) return undefined;
  if (counts.failed === 1) return state === 'Failed' ? only : undefined;
  return counts.waiting === 1 && state === 'InProgress' ? only : undefined;
}

function observes(rules: StatusRules, partial: StatusPartial): boolean {
  return rules.observes ?? partial.observes ?? false;
}

/**
 * The generation of the space's object once every connected destination has observed it; before, the oldest. A failure is about the present generation: tools
 * look for failures only in a status that is about the present generation.
 */
function observedGeneration(input: AggregateInput, verdict: StatusVerdict): number {
  const generation = input.object.metadata.generation ?? 0;
  const former = Math.max(0, generation - 1);
  if (verdict.isAvailable) return generation;
  if (!countsAreRead(input, verdict)) return former;
  return verdict.isFailed ? generation : Math.min(input.partial.observed ?? former, generation);
}

/**
 * Whether every tool sees in the counts, or in the condition of a failed Deployment, that the object is not ready. Without replicas, no count can say it. With
 * another update strategy than `RollingUpdate`, helm 3 does not look at the counts.
 */
function countsAreRead({ rules, object }: AggregateInput, { isFailed }: StatusVerdict): boolean {
  const { replicas, updateStrategy } = (object.spec ?? {}) as { replicas?: number; updateStrategy?: { type?: string } };
  const isCounted = Object.values(rules.fields).some(({ rule }) => rule === 'replicas');
  if (rules.rolls && updateStrategy?.type !== 'RollingUpdate') return false;
  return !isCounted || (replicas ?? 0) > 0 || (rules.ready !== undefined && isFailed);
}

function wantedNumbers({ spec }: KubeObject): WantedNumbers {
  const { replicas, completions } = (spec ?? {}) as { replicas?: unknown; completions?: unknown };
  const orOne = (value: unknown) => (typeof value === 'number' ? value : 1);
  return { replicas: orOne(replicas), completions: orOne(completions) };
}

/** Adds the times of the conditions that have none. The time of a condition changes only when its status changes. `former`: the status before. */
export function withTransitionTimes(status: Status, former: unknown, now: string): Status {
  const { conditions } = status as { conditions?: readonly (StatusCondition & { lastTransitionTime?: string })[] };
  if (!conditions) return status;
  const before = (former as { conditions?: unknown } | undefined)?.conditions;
  const old = new Map((Array.isArray(before) ? (before as Condition[]) : []).map((one) => [one.type, one]));
  const timed = conditions.map((condition) => {
    if (condition.lastTransitionTime !== undefined) return condition;
    const same = old.get(condition.type);
    const kept = same?.status === condition.status ? same.lastTransitionTime : undefined;
    return { ...condition, lastTransitionTime: kept ?? now };
  });
  return { ...status, conditions: timed };
}
