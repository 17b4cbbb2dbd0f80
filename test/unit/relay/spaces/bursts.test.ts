import { describe, expect, it } from 'vitest';
import { Bursts } from '../../../../relay/spaces/bursts.ts';

/** The waiting times of writes of one namespace at these times. */
function waits(timesMs: readonly number[], bursts = new Bursts()): number[] {
  return timesMs.map((nowMs) => bursts.waitMs('shop', nowMs));
}
const every = (ms: number, count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i * ms);

describe('writes of a namespace', () => {
  it('are processed at once while they come occasionally, and a few in a row are too', () => {
    expect(waits(every(25, 100))).toEqual(every(0, 100));
    expect(waits([0, 1, 2, 3])).toEqual([0, 0, 0, 0]);
  });

  it('are grouped when one follows the other: each with those of the next 100 ms, and none waits longer', () => {
    const at = every(10, 200);
    const dueMs = waits(at).map((wait, i) => at[i]! + wait);
    const afterFirstTen = dueMs.slice(10);
    expect(Math.max(...waits(at))).toBe(100);
    expect(new Set(afterFirstTen).size).toBeLessThanOrEqual(20);
  });

  it('are processed at once again as soon as a burst is over, however long it was', () => {
    const bursts = new Bursts();
    expect(waits(every(1, 10_000), bursts).at(-1)).toBeGreaterThan(0);
    expect(waits([10_200], bursts)).toEqual([0]);
  });

  it('do not wait for another namespace', () => {
    const bursts = new Bursts();
    waits(every(1, 1_000), bursts);
    expect(bursts.waitMs('till', 1_000)).toBe(0);
  });

  it('are not remembered for ever, while those of a burst are', () => {
    const bursts = new Bursts();
    for (let i = 0; i < 5_000; i++) bursts.waitMs(`n${i}`, i);
    waits(every(1, 10, 5_000), bursts);
    for (let i = 0; i < 2_000; i++) bursts.waitMs(`m${i}`, 5_010);
    expect(bursts.waitMs('shop', 5_011)).toBeGreaterThan(0);
    expect(bursts.remembered).toBeGreaterThan(1_000);
    for (let i = 0; i < 5_000; i++) bursts.waitMs(`k${i}`, 9_000 + i);
    expect(bursts.remembered).toBeLessThanOrEqual(1_000);
  });
});
