import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { AgeRewrites } from '../../../../../relay/gather/status/age-rewrites.ts';

const minuteMs = 60_000;

/** A status that is written again whenever it is marked. Returns the ages, in minutes, at which it was written. */
function writesWithin(ms: number): number[] {
  const clock = new VirtualClock();
  const sinceMs = clock.wallMs();
  const ages: number[] = [];
  const rewrites = new AgeRewrites(clock, (id) => {
    ages.push((clock.wallMs() - sinceMs) / minuteMs);
    rewrites.written(id, sinceMs);
  });
  rewrites.written('center.retail/shop', sinceMs);
  clock.advance(ms);
  return ages;
}

describe('the ages in written statuses', () => {
  it('count on: every minute at first, then whenever the age has grown by a tenth', () => {
    const ages = writesWithin(60 * minuteMs);
    expect(ages.slice(0, 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for (const [i, age] of ages.entries()) expect(age).toBeLessThanOrEqual((ages[i - 1] ?? 0) * 1.1 + 1);
    expect(ages.at(-1)).toBeGreaterThan(54);
  });

  it('cause few writes, however long a destination is away', () => {
    expect(writesWithin(24 * 60 * minuteMs).length).toBeLessThan(70);
    expect(writesWithin(30 * 24 * 60 * minuteMs).length).toBeLessThan(110);
  });

  it('cause no write and no timer when all destinations are back', () => {
    const clock = new VirtualClock();
    const marked: string[] = [];
    const rewrites = new AgeRewrites(clock, (id) => marked.push(id));
    rewrites.written('a', clock.wallMs());
    rewrites.written('a', undefined);
    expect(clock.fireNext(clock.wallMs() + minuteMs)).toBe(true);
    expect(clock.fireNext(clock.wallMs() + 60 * minuteMs)).toBe(false);
    expect(marked).toEqual([]);
  });

  it('never count a time in the future, which another clock may have written', () => {
    const clock = new VirtualClock();
    const marked: string[] = [];
    const rewrites = new AgeRewrites(clock, (id) => marked.push(id));
    rewrites.written('a', clock.wallMs() + 60 * minuteMs);
    clock.advance(minuteMs);
    expect(marked).toEqual(['a']);
    rewrites.stop();
  });
});
