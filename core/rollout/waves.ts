/**
 * Decides to which wave a destination belongs. This runs at the parent of the destination. The position of a destination in [0, 1) is a hash of the release's
 * salt and the destination's path. A wave with a fraction includes all positions below the fraction. So a larger fraction includes all destinations of a
 * smaller one, and other destinations are first in each release.
 *
 * A wave with a count includes the smallest positions of all connected destinations. Each subtree reports its smallest positions, and a merge keeps the
 * smallest k (bottom-k). So no node needs to know the destinations of another node. The origin sends exactly the drawn positions, not a threshold: if a
 * destination was away during the draw and is below the threshold when it returns, the wave would get more destinations than its count.
 */
import { hash128 } from '../object/hash.ts';
import { type Labels, matchesSelector } from '../object/selector.ts';
import type { WaveCondition } from './spec.ts';

/** Bits of a position: as many as a double has exactly. */
const positionBits = 53n;

/** The position of a destination, uniform in [0, 1): the first 53 bits of a hash of salt and path. */
export function positionOf(salt: string, path: string): number {
  const hash = hash128(`${salt}\n${path}`);
  const first = Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).readBigUInt64BE();
  return Number(first >> (64n - positionBits)) / 2 ** Number(positionBits);
}

/** The drawn positions for waves with a count, smallest first. A wave with a count includes the first `count` of them. Null: not drawn yet. */
export type Drawn = readonly number[] | null;

/** The index of the first wave whose condition holds. If no condition holds, the index of the rest wave: the number of conditions. */
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

/** The number of smallest positions that have to be drawn: the greatest count of a wave. */
export function greatestCount(conditions: readonly WaveCondition[]): number {
  return Math.max(0, ...conditions.map(({ count }) => count ?? 0));
}

export function smallestPositions(a: readonly number[], b: readonly number[], k: number): number[] {
  return [...a, ...b].sort((x, y) => x - y).slice(0, k);
}
