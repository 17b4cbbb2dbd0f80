/**
 * Bounds of the counts that a node reports about its subtree. A parent refuses an entry with a count above its bound. If the sum of a node is larger, the
 * node reports the bound. So false counts from a subtree can make sums too large, but they can't make a parent refuse the entry of an honest node.
 *
 * Sums in memory have no bound. After a node has cut honest counts to their bounds, the larger of two counts is still larger or equal, and a total still has
 * room for all its parts.
 */
import * as z from 'zod';

/** Destinations in one state: 32 bits, as in Kubernetes. Even the sum over a million children is a number that JSON represents exactly. */
export const destinationsMax = 2 ** 31 - 1;
/** Destinations in all four states together. */
export const expectedMax = 4 * destinationsMax;
/**
 * Locations that have one label key: 256 reported values (`valuesPerKeyMax`) with `destinationsMax` Locations each, and room for values that are not
 * reported.
 */
export const presentMax = 2 ** 40;
/** All Locations, or all leaves. Larger than `presentMax`: if both counts are cut, a key must not look as if all Locations had it. */
export const placesMax = 2 ** 41;
/** Rows of a summary: a thousand per destination. */
export const countedMax = 2 ** 42;

/** A number of rows for a report, at most its bound. */
export function boundedRowCount(count: number): number {
  return Math.min(count, countedMax);
}

export function countUpTo(max: number) {
  return z.number().int().min(0).max(max);
}

/** The counts for a report, each at most its bound. */
export function cutCounts<T extends Readonly<Record<string, number>>>(counts: T, max = destinationsMax): T {
  const names = Object.keys(counts);
  if (names.every((name) => counts[name]! <= max)) return counts;
  return Object.fromEntries(names.map((name) => [name, Math.min(counts[name]!, max)])) as T;
}
