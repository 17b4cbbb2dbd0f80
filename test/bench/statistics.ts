/** Few numbers out of many. */

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The smallest value that at least this fraction of all values does not exceed: one that was measured, never one in between. */
export function percentile(values: readonly number[], fraction: number): number {
  if (values.length === 0) throw new Error('nothing was measured');
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)]!;
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
