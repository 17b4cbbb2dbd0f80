/**
 * To which wave a destination belongs, decided where it is known. Its position in [0, 1) is a hash of the release's salt and its uid: a
 * fraction takes the positions below it, so that fractions are nested, and the same destinations are not always the first. A count takes the
 * positions up to a threshold that the root publishes: the count-th smallest of all positions, found by merging the smallest of each
 * subtree (bottom-k), so that no node knows the destinations of another.
 */
import { hash128 } from '../object/hash.ts';
import { type Labels, matchesSelector } from '../object/selector.ts';
import type { WaveCondition } from './spec.ts';

/** Bits of a hash that a double holds exactly. */
const positionBits = 53n;

/** Uniform in [0, 1): the first 53 bits of a hash of salt and uid. */
export function positionOf(salt: string, uid: string): number {
  const hash = hash128(`${salt}\n${uid}`);
  const first = Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).readBigUInt64BE();
  return Number(first >> (64n - positionBits)) / 2 ** Number(positionBits);
}

/** Per wave with a count: the greatest position that belongs to it; null for other waves and for counts not known yet. */
export type Thresholds = readonly (number | null)[];

/** The first wave whose condition holds; their number, if none does: the rest. */
export function waveOf(
  conditions: readonly WaveCondition[],
  thresholds: Thresholds,
  labels: readonly Labels[],
  position: number,
): number {
  const found = conditions.findIndex(({ selector, fraction }, index) => {
    if (selector) return labels.some((one) => matchesSelector(selector, one));
    if (fraction !== undefined) return position < fraction;
    const threshold = thresholds[index];
    return threshold !== null && threshold !== undefined && position <= threshold;
  });
  return found < 0 ? conditions.length : found;
}

/** How many of the smallest positions the thresholds need. */
export function greatestCount(conditions: readonly WaveCondition[]): number {
  return Math.max(0, ...conditions.map(({ count }) => count ?? 0));
}

/** `smallest`: of all destinations, in order. Fewer than the count: all of them. */
export function thresholdsOf(conditions: readonly WaveCondition[], smallest: readonly number[]): (number | null)[] {
  return conditions.map(({ count }) => (count === undefined ? null : (smallest[count - 1] ?? 1)));
}

export function smallestPositions(a: readonly number[], b: readonly number[], k: number): number[] {
  return [...a, ...b].sort((x, y) => x - y).slice(0, k);
}
