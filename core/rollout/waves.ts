/**
 * To which wave a destination belongs. The parent of the destination decides. The position of a destination in [0, 1) is a hash of the release's salt and the
 * destination's path. A fraction takes the positions below it. So fractions are nested, and different destinations come first in each release.
 *
 * A count takes the smallest positions of all connected destinations. Each subtree reports its smallest positions, and the merge keeps the smallest k
 * (bottom-k). So no node needs to know the destinations of another node. The root publishes exactly these positions. A threshold would not do: a destination
 * that was away during the draw and comes back could lie below the threshold, and the wave would get more destinations than its count.
 */
import { hash128 } from '../object/hash.ts';
import { type Labels, matchesSelector } from '../object/selector.ts';
import type { WaveCondition } from './spec.ts';

/** As many bits as a double holds exactly. */
const positionBits = 53n;

/** Uniform in [0, 1): the first 53 bits of a hash of salt and path. */
export function positionOf(salt: string, path: string): number {
  const hash = hash128(`${salt}\n${path}`);
  const first = Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).readBigUInt64BE();
  return Number(first >> (64n - positionBits)) / 2 ** Number(positionBits);
}

/** The drawn positions of waves with a count, in order; each such wave takes as many from the start as its count. Null: not drawn yet. */
export type Drawn = readonly number[] | null;

/** The index of the first wave whose condition holds. If none holds: the number of conditions, which is the rest wave. */
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
