/**
 * The status partial: the state of one object at a set of destinations. Two partials of disjoint sets merge into the partial of both sets together. The merge
 * is associative and commutative, so the shape of the tree does not matter. Its size is bounded, whatever the number of destinations.
 *
 * Of the destinations at which the object is available, a partial has mostly their number. So the partials of a thousand such destinations are equal.
 */
import { compareText } from '../object/text-order.ts';
import { mergeLeftOut } from './left-out.ts';
import { type MergedCondition, mergeConditions } from './status-conditions.ts';
import { type FieldValue, fieldsAway, fieldsOfFormer, mergeFields } from './status-fields.ts';
import type { StatusRules } from './status-rules.ts';

/**
 * The standing of an object at one destination, the worst first. This is the order in which the aggregate names a reason.
 * - `failed`: the object will not become available by itself, or the cluster refuses it.
 * - `conflicted`: another source holds the object there.
 * - `quarantined`: the destination can't use an entry.
 * - `stale`: the destination is not connected. `never`: it has not reported yet.
 * - `waiting`: the destination does not have the present form of the object yet, or the object is not available yet.
 */
export const standings = ['failed', 'conflicted', 'quarantined', 'stale', 'never', 'waiting', 'available'] as const;
export type ObjectStanding = (typeof standings)[number];

/** A destination at which the object is not available, and the reason. */
export interface Problem {
  readonly standing: ObjectStanding;
  /** Path of the agent; if a relay is not connected, the path of the relay. */
  readonly path: string;
  readonly reason: string;
  readonly message: string;
}

export interface StatusPartial {
  /** Numbers of destinations. */
  readonly counts: Readonly<Record<ObjectStanding, number>>;
  /** The worst problem; of several equal ones, the one with the smallest path. Absent: the object is available at every destination. */
  readonly worst?: Problem;
  /** The least generation of the object, as its origin counts, that a connected destination has observed. Absent: no destination has observed any. */
  readonly observed?: number;
  /** A destination reports an `observedGeneration`. */
  readonly observes?: true;
  /** Keyed by the path of the field (status-rules.ts). */
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** Names of fields that connected destinations report and no rule merges (left-out.ts). Absent: there are none. */
  readonly leftOut?: readonly string[];
  readonly conditions: readonly MergedCondition[];
  /** Only while there is one destination: the `.status` that it reported last, with generations of the origin. */
  readonly only?: Readonly<Record<string, unknown>>;
}

const noCounts: Readonly<Record<ObjectStanding, number>> = Object.freeze(
  Object.fromEntries(standings.map((standing) => [standing, 0])) as Record<ObjectStanding, number>,
);

export function destinationsOf({ counts }: StatusPartial): number {
  return standings.reduce((sum, standing) => sum + counts[standing], 0);
}

/** The counts of `destinations` destinations with one standing. */
export function countsOf(standing: ObjectStanding, destinations = 1): Readonly<Record<ObjectStanding, number>> {
  return { ...noCounts, [standing]: destinations };
}

/** The partial of destinations about which nothing but their standing is known. */
export function unknownPartial(
  rules: StatusRules,
  problem: Problem & { readonly standing: Exclude<ObjectStanding, 'available'> },
  destinations: number,
): StatusPartial {
  const fields = fieldsAway(rules, {}, destinations);
  return { counts: countsOf(problem.standing, destinations), worst: problem, fields, conditions: [] };
}

export function mergeStatusPartials(rules: StatusRules, a: StatusPartial, b: StatusPartial): StatusPartial {
  const counts = { ...a.counts };
  for (const standing of standings) counts[standing] += b.counts[standing];
  const worst = worseOf(a.worst, b.worst);
  const leftOut = mergeLeftOut(a.leftOut, b.leftOut);
  const observed = Math.min(a.observed ?? Number.POSITIVE_INFINITY, b.observed ?? Number.POSITIVE_INFINITY);
  return {
    counts,
    ...(worst ? { worst } : {}),
    ...(Number.isFinite(observed) ? { observed } : {}),
    ...(a.observes || b.observes ? { observes: true as const } : {}),
    fields: mergeFields(rules, a.fields, b.fields),
    ...(leftOut.length > 0 ? { leftOut } : {}),
    conditions: mergeConditions(a.conditions, b.conditions),
  };
}

/** The partial of a relay that is not connected: its destinations are stale. */
export function awayPartial(rules: StatusRules, partial: StatusPartial, path: string): StatusPartial {
  const { failed, conflicted, waiting, available, stale } = partial.counts;
  const isStale = stale + failed + conflicted + waiting + available;
  const counts = { ...partial.counts, failed: 0, conflicted: 0, waiting: 0, available: 0, stale: isStale };
  const former = partial.worst && counts[partial.worst.standing] > 0 ? partial.worst : undefined;
  const worst = worseOf(former, isStale > 0 ? { standing: 'stale', path, ...notConnected } : undefined);
  return {
    counts,
    ...(worst ? { worst } : {}),
    ...(partial.observes ? { observes: true as const } : {}),
    fields: fieldsAway(rules, partial.fields, destinationsOf(partial)),
    conditions: rules.conditions === 'ended' ? partial.conditions : [],
    ...(partial.only ? { only: partial.only } : {}),
  };
}

/** The partial of a relay that has another form of the object than this node: nothing is known about the present form. */
export function outdatedPartial(
  rules: StatusRules,
  partial: StatusPartial,
  path: string,
  generation: number,
): StatusPartial {
  const { failed, conflicted, waiting, available } = partial.counts;
  const isWaiting = failed + conflicted + waiting + available;
  const counts = { ...partial.counts, failed: 0, conflicted: 0, available: 0, waiting: isWaiting };
  const former = partial.worst && counts[partial.worst.standing] > 0 ? partial.worst : undefined;
  const worst = worseOf(former, isWaiting > 0 ? { standing: 'waiting', path, ...notCurrent } : undefined);
  return {
    counts,
    ...(worst ? { worst } : {}),
    ...(isWaiting > 0 ? { observed: Math.max(0, Math.min(partial.observed ?? 0, generation - 1)) } : {}),
    ...(partial.observes ? { observes: true as const } : {}),
    // Without observedGeneration, the status of a former form looks like the status of the present form.
    fields: rules.observes === false ? fieldsOfFormer(rules, partial.fields, destinationsOf(partial)) : partial.fields,
    conditions: [],
  };
}

export const notConnected = { reason: 'Stale', message: 'the destination is not connected' } as const;
export const notCurrent = {
  reason: 'Outdated',
  message: 'the destination has not reported the present form of the object',
} as const;

function worseOf(a: Problem | undefined, b: Problem | undefined): Problem | undefined {
  if (!a || !b) return a ?? b;
  return compareProblems(a, b) <= 0 ? a : b;
}

function compareProblems(a: Problem, b: Problem): number {
  return (
    standings.indexOf(a.standing) - standings.indexOf(b.standing) ||
    compareText(a.path, b.path) ||
    compareText(a.reason, b.reason) ||
    compareText(a.message, b.message)
  );
}
