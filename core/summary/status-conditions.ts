/**
 * Conditions of one type at many destinations, merged into one. Most types are good: True means that all is well, so the merged condition is True only if the
 * condition is True at every destination. A bad type is True if it is True at one destination. Types that are not known to be bad are taken as good.
 */
import { compareText } from '../object/text-order.ts';

export type ConditionStatus = 'True' | 'False' | 'Unknown';

export interface MergedCondition {
  readonly type: string;
  /** The worst status of all destinations. */
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  /** Path of the first destination with the worst status. Absent: the condition is well everywhere. */
  readonly path?: string;
  /** Number of destinations that have a condition of this type. */
  readonly count: number;
}

/** Limit for the types of one object. The objects of Kubernetes have at most ten. The types with the first names stay. */
export const conditionTypesMax = 16;
/** Limits for texts from a cluster. A message of this length fills a page of a terminal. */
export const reasonMax = 128;
export const messageMax = 512;

/** Types that say that something is wrong, or still going on. The first two are those that kstatus asks controllers to set. */
const badTypes: ReadonlySet<string> = new Set([
  'Stalled',
  'Reconciling',
  'Degraded',
  'Failed',
  'FailureTarget',
  'Dangling',
]);
const badEndings = /(?:Failure|Failed|Failing|Pressure|Error|Errors|Unavailable|Invalid|Conflicted|Exceeded|Expired)$/;

export function isBadWhenTrue(type: string): boolean {
  return badTypes.has(type) || badEndings.test(type);
}

export function isWell({ type, status }: Pick<MergedCondition, 'type' | 'status'>): boolean {
  return status === (isBadWhenTrue(type) ? 'False' : 'True');
}

/** The conditions of one destination, sorted by type. `conditions` comes from a cluster and may have any form. */
export function conditionsAt(path: string, conditions: unknown): readonly MergedCondition[] {
  if (!Array.isArray(conditions)) return [];
  const byType = new Map<string, MergedCondition>();
  for (const condition of conditions) {
    const merged = conditionAt(path, condition);
    if (merged) byType.set(merged.type, merged);
  }
  return bounded(byType);
}

function conditionAt(path: string, condition: unknown): MergedCondition | undefined {
  if (typeof condition !== 'object' || condition === null) return undefined;
  const { type, status, reason, message } = condition as Record<string, unknown>;
  if (typeof type !== 'string' || type === '' || type.length > reasonMax) return undefined;
  const known = status === 'True' || status === 'False' ? status : 'Unknown';
  const texts = { reason: textOf(reason, reasonMax), message: textOf(message, messageMax) };
  return { type, status: known, ...texts, ...(isWell({ type, status: known }) ? {} : { path }), count: 1 };
}

/** Merges two lists. Associative and commutative. */
export function mergeConditions(
  a: readonly MergedCondition[],
  b: readonly MergedCondition[],
): readonly MergedCondition[] {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const byType = new Map(a.map((condition) => [condition.type, condition]));
  for (const other of b) {
    const before = byType.get(other.type);
    byType.set(other.type, before ? mergeTwo(before, other) : other);
  }
  return bounded(byType);
}

function mergeTwo(a: MergedCondition, b: MergedCondition): MergedCondition {
  return { ...(compareConditions(a, b) <= 0 ? a : b), count: a.count + b.count };
}

/** The types with the first names. Associative, because each of them is also among the first of its own list. */
function bounded(byType: ReadonlyMap<string, MergedCondition>): readonly MergedCondition[] {
  return [...byType.values()].sort((a, b) => compareText(a.type, b.type)).slice(0, conditionTypesMax);
}

/** Orders conditions of one type, the worst first. */
function compareConditions(a: MergedCondition, b: MergedCondition): number {
  return (
    rank(a) - rank(b) ||
    compareText(a.path ?? '', b.path ?? '') ||
    compareText(a.reason, b.reason) ||
    compareText(a.message, b.message)
  );
}

function rank(condition: MergedCondition): number {
  if (isWell(condition)) return 2;
  return condition.status === 'Unknown' ? 1 : 0;
}

export function textOf(value: unknown, max: number): string {
  return typeof value === 'string' ? value.slice(0, max) : '';
}
