import { expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { Corrections } from '../../../../edge-agent/apply/corrections.ts';

it('puts an object back at once five times, then every ten seconds, and again at once after a while of quiet', () => {
  const clock = new VirtualClock();
  const corrections = new Corrections(clock);
  const take = (key: string, times: number) => Array.from({ length: times }, () => corrections.delayMs(key));
  expect(take('till', 5)).toEqual([0, 0, 0, 0, 0]);
  expect(take('till', 1)).toEqual([10_000]);
  expect(take('web', 1)).toEqual([0]);
  clock.advance(10_000);
  expect(take('till', 2)).toEqual([0, 10_000]);
  clock.advance(600_000);
  expect(take('till', 5)).toEqual([0, 0, 0, 0, 0]);
});
