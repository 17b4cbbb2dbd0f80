import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { Acknowledgements, acknowledgedWithinMs } from '../../../../core/session/acknowledgements.ts';

describe('acknowledgements', () => {
  it('are written together, the last one for all of them, as long after the first as their bound says', () => {
    const clock = new VirtualClock();
    const written: number[] = [];
    const acknowledgements = new Acknowledgements(clock, (cursor) => written.push(cursor));
    for (const cursor of [1, 2, 5]) {
      acknowledgements.note(cursor);
      clock.advance(acknowledgedWithinMs / 5);
    }
    expect(written).toEqual([]);
    clock.advance(acknowledgedWithinMs);
    expect(written).toEqual([5]);
    acknowledgements.note(6);
    clock.advance(acknowledgedWithinMs);
    expect(written).toEqual([5, 6]);
  });

  it('are written at once when they are settled, and not again', () => {
    const clock = new VirtualClock();
    const written: number[] = [];
    const acknowledgements = new Acknowledgements(clock, (cursor) => written.push(cursor));
    acknowledgements.note(3);
    acknowledgements.settle();
    acknowledgements.settle();
    clock.advance(1_000);
    expect(written).toEqual([3]);
  });
});
