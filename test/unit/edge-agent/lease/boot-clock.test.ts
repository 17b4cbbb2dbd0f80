import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { bootClock } from '../../../../edge-agent/lease/boot-clock.ts';

test('the time that a machine sleeps counts, although the monotonic clock of the process stands still', () => {
  const clock = new VirtualClock();
  let seconds = 100;
  const boot = bootClock(clock, () => seconds);
  const start = boot.monotonicMs();
  clock.advance(2_500);
  seconds += 2;
  expect(boot.monotonicMs() - start).toBe(2_500);
  seconds += 3_600;
  expect(boot.monotonicMs() - start).toBe(3_602_000);
});
