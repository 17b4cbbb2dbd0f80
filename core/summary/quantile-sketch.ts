/**
 * Quantiles of many values within a relative error of 1 %: DDSketch (Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch with
 * relative-error guarantees", VLDB 2019). Values are counted in buckets whose bounds grow by a constant factor. So a merge is an addition: exact, in any
 * order. This is own code because @datadog/sketches-js changes its stores in place, and a segment tree needs values that do not change.
 *
 * Bound: `binsMax` buckets for each sign. Values that are smaller than the greatest value by more than a factor of 10⁸ are counted in the lowest bucket that
 * is kept. This is associative: a bucket that one part has folded lies below the lowest bucket of the whole, too.
 */
import { compareNumbers } from './order.ts';

export interface QuantileSketch {
  readonly zero: number;
  /** Bucket to count, for values above and below zero. Values below zero are in buckets by their magnitude. */
  readonly above: ReadonlyMap<number, number>;
  readonly below: ReadonlyMap<number, number>;
}

/** A little less than the promised 1 %, so that a result rounded to six digits keeps the promise. */
const bucketError = 0.0099;
const growth = (1 + bucketError) / (1 - bucketError);
const logGrowth = Math.log(growth);
/** e^(1024 × ln growth) is 6.4 × 10⁸. */
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

/** The value at a rank, 0.5 for the median. Undefined: there are no values. */
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

/** The value whose relative distance to both bounds of the bucket is the same, with six digits. */
function middleOf(bin: number): number {
  return Number(((2 * growth ** bin) / (growth + 1)).toPrecision(6));
}

function mergeBins(a: ReadonlyMap<number, number>, b: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
  if (a.size === 0) return b;
  if (b.size === 0) return a;
  const bins = new Map(a);
  for (const [bin, n] of b) bins.set(bin, (bins.get(bin) ?? 0) + n);
  // Almost always, the buckets fit within the bound, and nothing has to be folded.
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
