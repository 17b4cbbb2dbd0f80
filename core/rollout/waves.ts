/**
 * To which wave a destination belongs, decided where it is known. Its position in [0, 1) is a hash of the release's salt and its path: a
 * fraction takes the positions below it, so that fractions are nested, and the same destinations are not always the first. A count takes the
 * smallest of all positions of connected destinations, found by merging the smallest of each subtree (bottom-k), so that no node knows the
 * destinations of another. The root publishes just these: everything up to a threshold would be more than the count as soon as a destination
 * comes back that was away when it was drawn.
 */
import { hash128 } from '../object/hash.ts';
import { type Labels, matchesSelector } from '../object/selector.ts';
import type { WaveCondition } from './spec.ts';

/** Bits of a hash that a double holds exactly. */
const positionBits = 53n;

/** Uniform in [0, 1): the first 53 bits of a hash of salt and path. */
export function positionOf(salt: string, path: string): number {
  const hash = hash128(`${salt}\n${path}`);
  const first = Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).readBigUInt64BE();
  return Number(first >> (64n - positionBits)) / 2 ** Number(positionBits);
}

/** The positions that waves with a count have, in order: each takes as many from the start as it counts. Null: not drawn yet. */
export type Drawn = readonly number[] | null;

/** The first wave whose condition holds; their number, if none does: the rest. */
export function waveOf(
  conditions: readonly WaveCondition[],
  drawn: Drawn,
  labels: readonly Labels[],
  position: number,
): number {
  const place = drawn?.indexOf(position) ?? -1;
  const found = conditions.findIndex(({ selector, fraction, count = 0 }) => {
    if (selector) return labels.some((one) => matchesSelector(selector, one));
    if (fraction !== undefined) return position < fraction;
    return place >= 0 && place < count;
  });
  return found < 0 ? conditions.length : found;
}

/** How many of the smallest positions the counts need. */
export function greatestCount(conditions: readonly WaveCondition[]): number {
  return Math.max(0, ...conditions.map(({ count }) => count ?? 0));
}

export function smallestPositions(a: readonly number[], b: readonly number[], k: number): number[] {
  return [...a, ...b].sort((x, y) => x - y).slice(0, k);
}
