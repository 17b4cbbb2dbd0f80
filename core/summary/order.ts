/** Orders that are the same on every node and in every locale, and hashes for values that have no order of their own. */
import { hash128 } from '../object/hash.ts';
import { hex } from '../store/bytes.ts';

export function compareNumbers(a: number, b: number): number {
  return a - b;
}

/** 64 bits in hex. Ordered by this hash, the first rows are a uniform sample, and the same sample on every node. */
export function sampleHash(data: string | Uint8Array): string {
  return hex(hash128(data).subarray(0, 8));
}

/** The `max` smallest items of the union of two sorted lists without duplicates. */
export function smallestOf<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
  max: number,
): readonly T[] {
  if (a.length === 0 && b.length <= max) return b;
  if (b.length === 0 && a.length <= max) return a;
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (merged.length < max && (i < a.length || j < b.length)) {
    const order = i === a.length ? 1 : j === b.length ? -1 : compare(a[i]!, b[j]!);
    merged.push(order <= 0 ? a[i]! : b[j]!);
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  return merged;
}
