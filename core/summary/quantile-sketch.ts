/**
 * Quantiles of many values within a relative error of 1 %: DDSketch (Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch with
 * relative-error guarantees", VLDB 2019). Values are counted in buckets whose bounds grow by a constant factor. A merge adds the counts, so it is exact and
 * does not depend on the order. The library @datadog/sketches-js was rejected: it changes its sketches in place, and a segment tree needs values that do not
 * change.
 *
 * Bound: `binsMax` buckets for each sign. If the buckets would be more, the counts of the lowest buckets are added to the lowest bucket that is kept. This only
 * concerns values that are more than 10⁸ times smaller than the greatest value. It is associative: if one part has dropped a bucket, the bucket is also too
 * low for the whole.
 */
import { compareNumbers } from './order.ts';

export interface QuantileSketch {
  readonly zero: number;
  /** Counts keyed by bucket, for values above zero and for values below zero. A value below zero is in the bucket of its absolute value. */
  readonly above: ReadonlyMap<number, number>;
  readonly below: ReadonlyMap<number, number>;
}

/** Relative error of a bucket: a little less than the promised 1 %, because the result is also rounded to six digits. */
const bucketError = 0.0099;
const growth = (1 + bucketError) / (1 - bucketError);
const logGrowth = Math.log(growth);
/** Limit for the buckets. 1,024 buckets cover a factor of 6.4 × 10⁸: e^(1024 × ln growth). */
const binsMax = 1024;
const none: ReadonlyMap<number, number> = new Map();

export function sketchOf(value: number): QuantileSketch {
  if (value === 0) return { zero: 1, above: none, below: none };
  const one = new Map([[Math.ceil(Math.log(Math.abs(value)) / logGrowth), 1]]);
  return value > 0 ? { zero: 0, above: one, below: none } : { zero: 0, above: none, below: one };
}

export function mergeSketches(a: QuantileSketch, b: QuantileSketch): QuantileSketch {
  return { zero: a.zero + b.zero, above: mergeBins(a.above, b.above), below: mergeBins(a.below, b.below) };
}

/** The quantile `q`, for example 0.5 for the median. Undefined: there are no values. */
export function quantile({ zero, above, below }: QuantileSketch, q: number): number | undefined {
  const count = zero + sum(above) + sum(below);
  if (count === 0) return undefined;
  let rank = Math.floor(q * (count - 1));
  for (const [bin, n] of [...below].sort(([x], [y]) => compareNumbers(y, x))) {
    if (rank < n) return -middleOf(bin);
    rank -= n;
  }
  if (rank < zero) return 0;
  rank -= zero;
  for (const [bin, n] of [...above].sort(([x], [y]) => compareNumbers(x, y))) {
    if (rank < n) return middleOf(bin);
    rank -= n;
  }
  throw new Error('a sketch counts less than it has');
}

/** The value with the same relative distance to both bounds of the bucket, rounded to six digits. */
function middleOf(bin: number): number {
  return Number(((2 * growth ** bin) / (growth + 1)).toPrecision(6));
}

function mergeBins(a: ReadonlyMap<number, number>, b: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
  if (a.size === 0) return b;
  if (b.size === 0) return a;
  const bins = new Map(a);
  for (const [bin, n] of b) bins.set(bin, (bins.get(bin) ?? 0) + n);
  // `folded` almost always returns the buckets unchanged, because they are within the limit.
  return bins.size <= 1 ? bins : folded(bins);
}

function folded(bins: Map<number, number>): Map<number, number> {
  let [lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const bin of bins.keys()) {
    if (bin < lowest) lowest = bin;
    if (bin > highest) highest = bin;
  }
  const floor = highest - binsMax + 1;
  if (lowest >= floor) return bins;
  for (const [bin, n] of [...bins]) {
    if (bin >= floor) continue;
    bins.delete(bin);
    bins.set(floor, (bins.get(floor) ?? 0) + n);
  }
  return bins;
}

function sum(bins: ReadonlyMap<number, number>): number {
  let total = 0;
  for (const n of bins.values()) total += n;
  return total;
}
