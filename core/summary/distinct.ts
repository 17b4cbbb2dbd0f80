/**
 * Counts different values with their smallest hashes (Bar-Yossef et al., "Counting distinct elements in a data stream", RANDOM 2002). With fewer than
 * `hashesMax` values, the count is exact. Otherwise it is an estimate with a standard error of 1/√(hashesMax − 2), 4.4 %. The order of merging does not
 * matter.
 */
import { compareText } from '../object/text-order.ts';
import { sampleHash, smallestOf } from './order.ts';

/** Limit for the kept hashes: 8 KiB of hex text. */
export const hashesMax = 512;

/** Hashes in hex, sorted. */
export type Distinct = readonly string[];

export function distinctOf(text: string): Distinct {
  return [sampleHash(text)];
}

export function mergeDistinct(a: Distinct, b: Distinct): Distinct {
  return smallestOf(a, b, compareText, hashesMax);
}

export function countDistinct(hashes: Distinct): number {
  const greatest = hashes.at(-1);
  if (greatest === undefined || hashes.length < hashesMax) return hashes.length;
  // The first 13 hex digits are 52 bits of the hash; a number can hold them exactly.
  const share = Number.parseInt(greatest.slice(0, 13), 16) / 2 ** 52;
  return Math.round((hashesMax - 1) / share);
}
