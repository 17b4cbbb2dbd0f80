/** The fields of an aggregated status, besides its conditions. */
import type { Status } from './destination-status.ts';
import type { FieldValue } from './status-fields.ts';
import type { StatusPartial } from './status-partial.ts';
import type { FieldRule, StatusRules } from './status-rules.ts';
import type { StatusVerdict } from './verdict.ts';

/** `replicas`: `spec.replicas` of the space's object. */
export function aggregatedFields(
  rules: StatusRules,
  partial: StatusPartial,
  verdict: StatusVerdict,
  replicas: number,
): Status {
  const status: Record<string, unknown> = {};
  for (const [path, rule] of Object.entries(rules.fields)) {
    const value = fieldOf(rule, partial.fields[path], partial, verdict, replicas);
    if (value !== undefined) put(status, path, value);
  }
  return { ...status, ...derived(status, verdict) };
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

/** FieldValues that follow from other fields. */
function derived(status: Status, { isAvailable }: StatusVerdict): Status {
  const { availableReplicas, updateRevision, desiredNumberScheduled, updatedNumberScheduled, numberAvailable } = status;
  if (typeof desiredNumberScheduled === 'number') {
    const updated = Number(updatedNumberScheduled);
    // A destination whose number of nodes is not known wants at least one pod.
    const desired = isAvailable ? desiredNumberScheduled : Math.max(desiredNumberScheduled, updated + 1);
    const numberUnavailable = desired - Number(numberAvailable);
    return { desiredNumberScheduled: desired, ...(numberUnavailable > 0 ? { numberUnavailable } : {}) };
  }
  if (updateRevision !== undefined) return isAvailable ? { currentRevision: updateRevision } : {};
  if (typeof availableReplicas !== 'number' || status.updatedReplicas === undefined || isAvailable) return {};
  const unavailableReplicas = Math.max(1, Number(status.replicas) - availableReplicas);
  return { unavailableReplicas };
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
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
