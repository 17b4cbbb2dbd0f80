import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { watchIdleness } from '../../../../relay/process/idle-memory.ts';

test('an idle process is announced once, and again only after it had work', () => {
  const clock = new VirtualClock();
  const idleChanges: boolean[] = [];
  let busy = 0.5;
  watchIdleness({ clock, busyShare: () => busy, idle: (isIdle) => idleChanges.push(isIdle) });
  clock.advance(60_000);
  expect(idleChanges).toEqual([]);
  busy = 0.001;
  clock.advance(60_000);
  expect(idleChanges).toEqual([true]);
  busy = 0.02;
  clock.advance(5_000);
  expect(idleChanges).toEqual([true, false]);
  busy = 0;
  clock.advance(60_000);
  expect(idleChanges).toEqual([true, false, true]);
});
