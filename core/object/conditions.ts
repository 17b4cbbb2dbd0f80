/** Conditions of a status: a list keyed by type. The lastTransitionTime changes only when the status of the condition changes. */
import type { Condition } from './meta.ts';

export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/** The conditions `before`, with `next` added or replaced. If `next` changes nothing, the result has the same content as `before`. */
export function withCondition(before: readonly Condition[], next: NewCondition, now: string): Condition[] {
  const old = before.find((condition) => condition.type === next.type);
  const lastTransitionTime = old && old.status === next.status ? old.lastTransitionTime : now;
  const condition: Condition = { ...next, lastTransitionTime };
  return old ? before.map((other) => (other.type === next.type ? condition : other)) : [...before, condition];
}

/** RFC 3339 with whole seconds, like every timestamp in the metadata of a Kubernetes object. */
export function timestamp(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}
