/** Orders that are the same on every node and in every locale, and hashes that give an order to any values. */
import { hash128 } from '../object/hash.ts';
import { hex } from '../store/bytes.ts';

export function compareNumbers(a: number, b: number): number {
  return a - b;
}

/** A hash of 64 bits, in hex. If rows are sorted by this hash, the first rows are a uniform sample, and every node gets the same sample. */
export function sampleHash(data: string | Uint8Array): string {
  return hex(hash128(data).subarray(0, 8));
}

/** Merges two sorted lists without duplicates, and returns the `max` smallest items. An item of both lists is returned once. */
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
