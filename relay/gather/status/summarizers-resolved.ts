/** The condition SummarizersResolved of an EdgePlacement: whether the StatusSummarizers that it names can be used. */
import { withCondition } from '../../../core/object/conditions.ts';
import type { Condition } from '../../../core/object/meta.ts';

const type = 'SummarizersResolved';
/** Limit for the reasons in the message. A person reads the message, and a placement may name many summarizers. */
const reasonsMax = 5;

/** `unresolved`: the reasons, keyed by name of the summarizer. Undefined: the placement names none, and the condition is left out. */
export function withSummarizers(
  conditions: readonly Condition[],
  unresolved: ReadonlyMap<string, string> | undefined,
  observedGeneration: number,
  now: string,
): readonly Condition[] {
  if (!unresolved) return conditions.filter((condition) => condition.type !== type);
  if (unresolved.size === 0) {
    const message = 'all StatusSummarizers that the placement names exist';
    return withCondition(conditions, { type, status: 'True', reason: 'Resolved', message, observedGeneration }, now);
  }
  const reasons = [...unresolved.values()];
  const more = reasons.length > reasonsMax ? `; and ${reasons.length - reasonsMax} more` : '';
  const message = `${reasons.slice(0, reasonsMax).join('; ')}${more}`;
  return withCondition(conditions, { type, status: 'False', reason: 'NotResolved', message, observedGeneration }, now);
}
