/**
 * Numbers of what is below a node, as they travel. A parent refuses one beyond its bound, and a node tells the bound where its own sum is beyond it: so a lie, or
 * any number of them, makes sums too large, but never what an honest node tells one that its parent refuses with all else that stands beside it.
 *
 * In memory sums go on as they are. Where they are cut, whatever holds between honest ones holds on: cut numbers keep their order, and the bound of a whole has
 * room for those of its parts.
 */
import * as z from 'zod';

/** Of destinations in one state: as Kubernetes counts, in 32 bits. A million children can't make a sum that JSON does not hold exactly. */
export const destinationsMax = 2 ** 31 - 1;
/** All of them, in the four states that there are. */
export const expectedMax = 4 * destinationsMax;
/** Places that have one key: of 256 values that are told (`valuesPerKeyMax`), each at as many destinations, or of more that are not. */
export const presentMax = 2 ** 40;
/** Places and leaves in all: where the two are cut there are more of them than have a key, so that it is not taken to be at all of them. */
export const placesMax = 2 ** 41;
/** Rows of a summary: a thousand for each destination. */
export const countedMax = 2 ** 42;

/** Of rows, as it may be told. */
export function boundedRowCount(count: number): number {
  return Math.min(count, countedMax);
}

export function countUpTo(max: number) {
  return z.number().int().min(0).max(max);
}

/** All numbers of these, as they may be told. */
export function cutCounts<T extends Readonly<Record<string, number>>>(counts: T, max = destinationsMax): T {
  const names = Object.keys(counts);
  if (names.every((name) => counts[name]! <= max)) return counts;
  return Object.fromEntries(names.map((name) => [name, Math.min(counts[name]!, max)])) as T;
}
