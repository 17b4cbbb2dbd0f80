/** Time, and few numbers out of many. */

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The smallest value that at least this fraction of all values does not exceed: a measured one, never a value in between. */
export function percentile(values: readonly number[], fraction: number): number {
  if (values.length === 0) throw new Error('nothing was measured');
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)]!;
}

/** The median of the percentiles of all blocks of this size: a minute in which the machine was busy counts once. */
export function percentileOfBlocks(values: readonly number[], fraction: number, block: number): number {
  const blocks = Array.from({ length: Math.ceil(values.length / block) }, (_, i) =>
    values.slice(i * block, (i + 1) * block),
  );
  return median(blocks.map((some) => percentile(some, fraction)));
}

/** A clock that all processes of a machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Milliseconds. */
export async function timed(act: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await act();
  return performance.now() - startMs;
}
