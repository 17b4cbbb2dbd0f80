import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { Corrections } from '../../../../edge-agent/apply/corrections.ts';

describe('an object that somebody changes', () => {
  let clock: VirtualClock;
  let corrections: Corrections;
  beforeEach(() => {
    clock = new VirtualClock();
    corrections = new Corrections(clock);
  });
  const take = (key: string, times: number) => Array.from({ length: times }, () => corrections.delayMs(key));

  it('is corrected at once five times, then ten seconds later, and again at once after a quiet time', () => {
    expect(take('till', 5)).toEqual([0, 0, 0, 0, 0]);
    expect(take('till', 1)).toEqual([10_000]);
    expect(take('web', 1)).toEqual([0]);
    clock.advance(600_000);
    expect(take('till', 5)).toEqual([0, 0, 0, 0, 0]);
  });

  it('has one turn for all earlier changes', () => {
    take('till', 5);
    expect(take('till', 2)).toEqual([10_000, 10_000]);
    clock.advance(4_000);
    expect(take('till', 2)).toEqual([6_000, 6_000]);
    clock.advance(6_000);
    expect(take('till', 1)).toEqual([10_000]);
  });

  it.each([0, 1_000])(
    'is corrected every ten seconds while it is changed again %d ms after each correction',
    (againMs) => {
      let times = 0;
      const putBack = (): void => {
        times++;
        clock.after(againMs, () => {
          const delayMs = corrections.delayMs('till');
          if (delayMs === 0) putBack();
          else clock.after(delayMs, putBack);
        });
      };
      expect(corrections.delayMs('till')).toBe(0);
      putBack();
      clock.advance(10 * 60_000);
      expect(times).toBe(5 + 60);
    },
  );
});
