import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import type { LimitUse } from '../../../../edge-agent/limits/limit-use.ts';
import { OwnLimits } from '../../../../edge-agent/limits/own-limits.ts';

const rate: LimitUse = {
  field: 'cluster.kubernetes.limits.requestsPerSecond',
  reason: 'RequestRate',
  max: 4,
  used: 0,
  shown: '4',
  waitedMs: 0,
  remedy: 'raise it',
};
const memory: LimitUse = {
  field: 'limits.memory',
  reason: 'Memory',
  max: 100,
  used: 10,
  shown: '100',
  remedy: 'place less here',
};

function watched() {
  const clock = new VirtualClock();
  const uses = { rate: 0, memory: 10 };
  let waitedMs = 0;
  let changes = 0;
  const limits = new OwnLimits({
    clock,
    logger: silentLogger,
    uses: () => {
      waitedMs += uses.rate;
      return [
        { ...rate, waitedMs },
        { ...memory, used: uses.memory },
      ];
    },
    changed: () => changes++,
  });
  limits.start();
  return { clock, uses, limits, changes: () => changes };
}

test('reports a limit that requests wait for all the time, once, and its end once', () => {
  const { clock, uses, limits, changes } = watched();
  uses.rate = 25_000;
  clock.advance(20_000);
  expect(limits.reported).toBeUndefined();
  clock.advance(10_000);
  expect(limits.reported).toEqual({
    reason: 'RequestRate',
    message: 'cluster.kubernetes.limits.requestsPerSecond is 4, and requests wait for it all the time: raise it',
  });
  clock.advance(600_000);
  expect(changes()).toBe(1);
  uses.rate = 9_999;
  clock.advance(50_000);
  expect(limits.reported).toBeDefined();
  clock.advance(10_000);
  expect(limits.reported).toBeUndefined();
  expect(changes()).toBe(2);
});

test('does not report a burst, nor repeated bursts with pauses between', () => {
  const { clock, uses, limits, changes } = watched();
  for (let i = 0; i < 10; i++) {
    uses.rate = 60_000;
    clock.advance(20_000);
    uses.rate = 0;
    clock.advance(10_000);
  }
  expect(limits.reported).toBeUndefined();
  expect(changes()).toBe(0);
});

test('reports memory before all of it is used, and several limits together', () => {
  const { clock, uses, limits } = watched();
  uses.memory = 89;
  clock.advance(60_000);
  expect(limits.reported).toBeUndefined();
  uses.memory = 90;
  uses.rate = 10_000;
  clock.advance(30_000);
  expect(limits.reported?.reason).toBe('RequestRate');
  expect(limits.reported?.message).toMatch(
    /requestsPerSecond is 4, .*; limits\.memory is 100, and nearly all of it is in use: place less here$/,
  );
  uses.rate = 0;
  clock.advance(60_000);
  expect(limits.reported?.reason).toBe('Memory');
});

test('checks nothing after its end', () => {
  const { clock, uses, limits, changes } = watched();
  limits.stop();
  uses.memory = 100;
  clock.advance(60_000);
  expect(changes()).toBe(0);
});
