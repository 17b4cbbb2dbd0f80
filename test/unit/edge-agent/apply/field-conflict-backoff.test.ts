import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { FieldConflictBackoff } from '../../../../edge-agent/apply/field-conflict-backoff.ts';

describe('an object that is put back', () => {
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

  it('is no fight a few times, nor now and then', () => {
    putBack(5, 0);
    expect(fights.messageOf('till')).toBeUndefined();
    clock.advance(600_000);
    putBack(30, 61_000);
    expect(fights.messageOf('till')).toBeUndefined();
    expect(over).toEqual([]);
  });

  it('is a fight at once against somebody fast, and soon against an autoscaler, with what was changed last', () => {
    putBack(6, 0);
    expect(fights.messageOf('till')).toBe('change 5');
    expect(fights.messageOf('web')).toBeUndefined();
    clock.advance(600_000);
    putBack(12, 15_000);
    expect(fights.messageOf('till')).toBe('change 11');
  });

  it('is none any more when it has been left alone for a minute, which is told once', () => {
    putBack(20, 15_000);
    clock.advance(30_000);
    expect(fights.messageOf('till')).toBeDefined();
    clock.advance(90_000);
    expect(fights.messageOf('till')).toBeUndefined();
    clock.advance(600_000);
    expect(over).toEqual(['till']);
  });

  it('costs nothing once it is over', () => {
    putBack(6, 0);
    fights.stop();
    clock.advance(600_000);
    expect(over).toEqual([]);
  });
});
