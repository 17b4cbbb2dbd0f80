/**
 * The most frequent values. With up to `topValuesMax` different values, all counts are exact. With more values, it would depend on the order of merges which
 * values are the rarest and are dropped. So instead, only the values with the smallest hashes are counted, and a uniform sample of rows is kept in addition. A
 * frequent value is in the sample even if there are very many rare values. Its count is then an estimate, with a standard error of at most 1/(2√rowsMax),
 * 4.4 % of the rows.
 */
import { compareText } from '../object/text-order.ts';
import { sampleHash, smallestOf } from './order.ts';

export const topValuesMax = 128;
export const rowsMax = 128;

export interface TopValues {
  /** Sorted by hash. */
  readonly values: readonly CountedValue[];
  /** Number of all rows. If values were left out, it is larger than the sum of the counts. */
  readonly rows: number;
  /** Sorted by hash. */
  readonly sample: readonly SampledRow[];
}

export interface CountedValue {
  readonly hash: string;
  readonly value: string;
  readonly count: number;
}

export interface SampledRow {
  readonly hash: string;
  readonly value: string;
}

/** The top values of one row. `row`: a unique name of the row. */
export function topOf(value: string, row: string): TopValues {
  return {
    values: [{ hash: sampleHash(value), value, count: 1 }],
    rows: 1,
    sample: [{ hash: sampleHash(row), value }],
  };
}

export function mergeTop(a: TopValues, b: TopValues): TopValues {
  const counts = new Map(a.values.map((counted) => [counted.value, counted]));
  for (const counted of b.values) {
    const before = counts.get(counted.value);
    counts.set(counted.value, before ? { ...before, count: before.count + counted.count } : counted);
  }
  return {
    values: [...counts.values()].sort(byHash).slice(0, topValuesMax),
    rows: a.rows + b.rows,
    sample: smallestOf(a.sample, b.sample, byHash, rowsMax),
  };
}

/** The k most frequent values. Values with equal counts are sorted by text. */
export function topValues({ values, rows, sample }: TopValues, k: number): { value: string; count: number }[] {
  const counts = new Map(values.map(({ value, count }) => [value, count]));
  const counted = values.reduce((sum, { count }) => sum + count, 0);
  if (counted < rows) {
    const seen = new Map<string, number>();
    for (const { value } of sample) seen.set(value, (seen.get(value) ?? 0) + 1);
    for (const [value, times] of seen) {
      if (!counts.has(value)) counts.set(value, Math.round((times / sample.length) * rows));
    }
  }
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((x, y) => y.count - x.count || compareText(x.value, y.value))
    .slice(0, k);
}

function byHash(a: { hash: string; value: string }, b: { hash: string; value: string }): number {
  return compareText(a.hash, b.hash) || compareText(a.value, b.value);
}
