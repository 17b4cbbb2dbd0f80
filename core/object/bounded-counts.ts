/**
 * Bounds of the counts that a node reports about its subtree. A parent refuses an entry with a count beyond its bound. A node reports the bound if its own
 * sum is larger. So false counts from below can make sums too large, but they can't make a parent refuse the entry of an honest node.
 *
 * Sums in memory are not bounded. Cut counts keep the relations between honest counts: their order stays, and the bound of a whole is at least the sum of the
 * bounds of its parts.
 */
import * as z from 'zod';

/** Destinations in one state, in 32 bits as Kubernetes counts. Even the sum of a million children is a number that JSON holds exactly. */
export const destinationsMax = 2 ** 31 - 1;
/** Destinations in all four states. */
export const expectedMax = 4 * destinationsMax;
/** Locations that have one key: 256 reported values (`valuesPerKeyMax`), each at `destinationsMax` Locations, and room for values that are not reported. */
export const presentMax = 2 ** 40;
/** All Locations, or all leaves. Larger than `presentMax`: where both counts are cut, a key must not seem to be present at all Locations. */
export const placesMax = 2 ** 41;
/** Rows of a summary: a thousand for each destination. */
export const countedMax = 2 ** 42;

/** A number of rows, cut to its bound for a report. */
export function boundedRowCount(count: number): number {
  return Math.min(count, countedMax);
}

export function countUpTo(max: number) {
  return z.number().int().min(0).max(max);
}

/** The counts, each cut to its bound for a report. */
export function cutCounts<T extends Readonly<Record<string, number>>>(counts: T, max = destinationsMax): T {
  const names = Object.keys(counts);
  if (names.every((name) => counts[name]! <= max)) return counts;
  return Object.fromEntries(names.map((name) => [name, Math.min(counts[name]!, max)])) as T;
}
