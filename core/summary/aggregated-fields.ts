/** The fields of an aggregated status, besides its conditions. */
import { parseJson } from '../object/json.ts';
import type { Status } from './destination-status.ts';
import type { FieldValue } from './status-fields.ts';
import type { StatusPartial } from './status-partial.ts';
import type { FieldRule, StatusRules } from './status-rules.ts';
import type { StatusVerdict } from './verdict.ts';

/** Numbers of the space's object: `spec.replicas`, and `spec.completions` of a Job. */
export interface WantedNumbers {
  readonly replicas: number;
  readonly completions: number;
}

export function aggregatedFields(
  rules: StatusRules,
  partial: StatusPartial,
  verdict: StatusVerdict,
  { replicas, completions }: WantedNumbers,
): Status {
  const status: Record<string, unknown> = {};
  const isComplete = isCompleteEverywhere(rules, partial, verdict);
  for (const [path, rule] of Object.entries(rules.fields)) {
    const known = fieldOf(rule, partial.fields[path], partial, verdict, replicas);
    // No destination has seen the result of a Job that counts as ended. Tools compare the number with spec.completions.
    const value = rule.rule === 'least' && isComplete ? (known ?? completions) : known;
    if (value !== undefined) put(status, path, value);
  }
  return { ...status, ...derived(rules, status, verdict) };
}

function isCompleteEverywhere(
  { conditions }: StatusRules,
  partial: StatusPartial,
  { destinations }: StatusVerdict,
): boolean {
  if (conditions !== 'ended') return false;
  return partial.conditions.some(
    ({ type, status, count }) => type === 'Complete' && status === 'True' && count === destinations,
  );
}

function fieldOf(
  rule: FieldRule,
  value: FieldValue | undefined,
  partial: StatusPartial,
  verdict: StatusVerdict,
  replicas: number,
): unknown {
  switch (rule.rule) {
    case 'told':
      return undefined;
    case 'replicas':
      return replicasField(rule.bound, typeof value === 'number' ? value : undefined, partial, verdict, replicas);
    case 'phase':
      return phaseOf(rule, value, verdict);
    case 'same':
      return typeof value === 'string' ? parsed(value) : undefined;
    case 'union':
      return Array.isArray(value) && value.length > 0 ? value.map((item) => parsed(item as string)) : undefined;
    default:
      return value ?? undefined;
  }
}

function replicasField(
  bound: 'short' | 'most' | undefined,
  value: number | undefined,
  { counts }: StatusPartial,
  { isAvailable }: StatusVerdict,
  replicas: number,
): number {
  if (isAvailable) return replicas;
  if (bound === 'short') return Math.max(0, Math.min(replicas - 1, value ?? replicas));
  if (bound === undefined) return Math.min(replicas, value ?? replicas);
  return counts.available > 0 ? Math.max(replicas, value ?? 0) : (value ?? 0);
}

/** The best phase would say that the object is available. */
function phaseOf(
  { worstFirst, otherwise }: FieldRule & { readonly rule: 'phase' },
  value: FieldValue | undefined,
  { isAvailable }: StatusVerdict,
): string {
  const phase = typeof value === 'string' && worstFirst.includes(value) ? value : otherwise;
  return !isAvailable && phase === worstFirst.at(-1) ? otherwise : phase;
}

/** Fields that follow from other fields. */
function derived({ derives }: StatusRules, status: Status, { isAvailable }: StatusVerdict): Status {
  switch (derives) {
    case 'numberUnavailable': {
      const [wanted, updated] = [Number(status.desiredNumberScheduled), Number(status.updatedNumberScheduled)];
      // A destination whose number of nodes is not known wants at least one pod.
      const desiredNumberScheduled = isAvailable ? wanted : Math.max(wanted, updated + 1);
      const numberUnavailable = desiredNumberScheduled - Number(status.numberAvailable);
      return { desiredNumberScheduled, ...(numberUnavailable > 0 ? { numberUnavailable } : {}) };
    }
    case 'currentRevision':
      return isAvailable && status.updateRevision !== undefined ? { currentRevision: status.updateRevision } : {};
    case 'unavailableReplicas':
      if (isAvailable) return {};
      return { unavailableReplicas: Math.max(1, Number(status.replicas) - Number(status.availableReplicas)) };
    default:
      return {};
  }
}

function put(status: Record<string, unknown>, path: string, value: unknown): void {
  const parts = path.split('.');
  let at = status;
  for (const part of parts.slice(0, -1)) {
    const inner = (at[part] ?? {}) as Record<string, unknown>;
    at[part] = inner;
    at = inner;
  }
  at[parts.at(-1)!] = value;
}

/** A child may have sent a text that is no JSON. */
function parsed(json: string): unknown {
  try {
    return parseJson(json);
  } catch {
    return undefined;
  }
}
