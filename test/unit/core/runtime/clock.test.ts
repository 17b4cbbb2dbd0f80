import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';

describe('the virtual clock', () => {
  it('fires timers in order of their time, then of their creation, and no stopped timer', () => {
    const timer = fc.record({ delayMs: fc.nat(20), stops: fc.boolean() });
    fc.assert(
      fc.property(fc.array(timer, { maxLength: 60 }), (timers) => {
        const clock = new VirtualClock(0);
        const fired: number[] = [];
        const made = timers.map(({ delayMs }, index) => clock.after(delayMs, () => fired.push(index)));
        timers.forEach(({ stops }, index) => {
          if (stops) made[index]!.stop();
        });
        clock.advance(20);
        const expected = timers
          .map(({ delayMs, stops }, index) => ({ delayMs, stops, index }))
          .filter(({ stops }) => !stops)
          .sort((a, b) => a.delayMs - b.delayMs || a.index - b.index)
          .map(({ index }) => index);
        expect(fired).toEqual(expected);
      }),
    );
  });

  it('fires timers that another timer starts on the way, and stops at the given time', () => {
    const clock = new VirtualClock(100);
    const seen: number[] = [];
    clock.after(5, () => clock.after(5, () => seen.push(clock.monotonicMs())));
    clock.advance(15);
    expect(seen).toEqual([110]);
    expect(clock.monotonicMs()).toBe(115);
  });

  it('fires one timer at a time on request, and none that is due later', () => {
    const clock = new VirtualClock(0);
    const seen: string[] = [];
    clock.after(3, () => seen.push('a'));
    clock.after(3, () => seen.push('b'));
    expect(clock.fireNext(3)).toBe(true);
    expect(seen).toEqual(['a']);
    expect(clock.fireNext(3)).toBe(true);
    expect(clock.fireNext(3)).toBe(false);
    expect(clock.monotonicMs()).toBe(3);
  });
});
