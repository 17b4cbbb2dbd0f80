/** Conditions of a status: a list keyed by type whose lastTransitionTime moves only when the status does. */
import type { Condition } from './meta.ts';

export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/** `before` with `next` in it; the same conditions (by value) when nothing changed. */
export function withCondition(before: readonly Condition[], next: NewCondition, now: string): Condition[] {
  const old = before.find((condition) => condition.type === next.type);
  const lastTransitionTime = old && old.status === next.status ? old.lastTransitionTime : now;
  const condition: Condition = { ...next, lastTransitionTime };
  return old ? before.map((other) => (other.type === next.type ? condition : other)) : [...before, condition];
}

/** RFC 3339 with whole seconds, as every timestamp of Kubernetes' metadata. */
export function timestamp(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}
