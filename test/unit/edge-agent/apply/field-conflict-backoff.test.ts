import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { FieldConflictBackoff } from '../../../../edge-agent/apply/field-conflict-backoff.ts';

describe('an object that is corrected', () => {
  let clock: VirtualClock;
  let fights: FieldConflictBackoff;
  let over: string[];
  beforeEach(() => {
    clock = new VirtualClock();
    over = [];
    fights = new FieldConflictBackoff(clock, (key) => over.push(key));
  });
  const putBack = (times: number, everyMs: number) => {
    for (let i = 0; i < times; i++) {
      fights.corrected('till', `change ${i}`);
      clock.advance(everyMs);
    }
  };

  it('has no conflict after one correction, or after occasional ones', () => {
    putBack(1, 0);
    expect(fights.messageOf('till')).toBeUndefined();
    clock.advance(600_000);
    putBack(30, 61_000);
    expect(fights.messageOf('till')).toBeUndefined();
    expect(over).toEqual([]);
  });

  it('has a conflict with the second round of a fast writer, and of an autoscaler, with the last change', () => {
    putBack(2, 0);
    expect(fights.messageOf('till')).toBe('change 1');
    expect(fights.messageOf('web')).toBeUndefined();
    clock.advance(600_000);
    putBack(1, 15_000);
    expect(fights.messageOf('till')).toBeUndefined();
    putBack(1, 15_000);
    expect(fights.messageOf('till')).toBe('change 0');
  });

  it.each([
    ['thirty seconds without changes by a fast writer', 100, 30_000],
    ['three rounds of a slow writer without a change', 15_000, 45_000],
    ['three rounds of a slower writer', 40_000, 120_000],
  ])('has none any more after %s, which is reported once', (_, roundMs, quietMs) => {
    putBack(20, roundMs);
    clock.advance(quietMs - roundMs - 5_000);
    expect(fights.messageOf('till')).toBeDefined();
    clock.advance(10_000);
    expect(fights.messageOf('till')).toBeUndefined();
    clock.advance(600_000);
    expect(over).toEqual(['till']);
  });

  it('needs no memory once the conflict is over', () => {
    putBack(6, 0);
    fights.stop();
    clock.advance(600_000);
    expect(over).toEqual([]);
  });
});
