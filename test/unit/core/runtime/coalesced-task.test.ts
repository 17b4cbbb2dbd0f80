import { beforeEach, describe, expect, it } from 'vitest';
import { CoalescedTask } from '../../../../core/runtime/coalesced-task.ts';

describe('a coalesced task', () => {
  let waiting: (() => void)[];
  let ran: number;
  const next = () => waiting.shift()?.();

  beforeEach(() => {
    waiting = [];
    ran = 0;
  });

  const turn = (run = () => {}) =>
    new CoalescedTask(
      (run) => waiting.push(run),
      () => {
        ran++;
        run();
      },
    );

  it('runs shortly after the request, not at once, and once for several requests', () => {
    const one = turn();
    one.ask();
    one.ask();
    expect([ran, waiting.length]).toEqual([0, 1]);
    next();
    expect([ran, waiting.length]).toEqual([1, 0]);
  });

  it('runs again if it is requested while it runs', () => {
    const one: CoalescedTask = turn(() => {
      if (ran === 1) one.ask();
    });
    one.ask();
    next();
    next();
    expect(ran).toBe(2);
  });

  it('does not run once it is stopped, whether it was requested before or after', () => {
    const one = turn();
    one.ask();
    one.stop();
    next();
    one.ask();
    next();
    expect([ran, waiting.length]).toEqual([0, 0]);
  });
});
