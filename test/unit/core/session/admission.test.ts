import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { nextSlot, type RateState } from '../../../../core/runtime/rate.ts';
import { HelloRateLimiter } from '../../../../core/session/admission.ts';
import { ReconcileSlots, reconcilesMax, slotMs } from '../../../../core/session/reconcile-slots.ts';
import { HandshakeRateLimiter } from '../../../../core/wire/network/handshake-rate-limiter.ts';

describe('turns', () => {
  it('let a burst through at once, then one an interval, and refill after a pause', () => {
    const rate = { intervalMs: 10, burst: 3 };
    let turns: RateState;
    const waits = (times: number, nowMs: number) =>
      Array.from({ length: times }, () => {
        const next = nextSlot(rate, turns, nowMs);
        turns = next.turns;
        return next.waitMs;
      });
    expect(waits(6, 1_000)).toEqual([0, 0, 0, 10, 20, 30]);
    expect(waits(1, 1_010)).toEqual([30]);
    expect(waits(4, 5_000)).toEqual([0, 0, 0, 10]);
  });

  it('never let more through than burst and rate allow', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { maxLength: 300 }), (gaps) => {
        const rate = { intervalMs: 20, burst: 5 };
        let turns: RateState;
        let nowMs = 0;
        const at = gaps.map((gap) => {
          nowMs += gap;
          const next = nextSlot(rate, turns, nowMs);
          turns = next.turns;
          return nowMs + next.waitMs;
        });
        for (let i = rate.burst; i < at.length; i++) {
          // Any six turns in a row take at least an interval.
          expect(at[i]! - at[i - rate.burst]!).toBeGreaterThanOrEqual(rate.intervalMs);
        }
      }),
      { seed: 11 },
    );
  });
});

describe('the handshake rate limiter', () => {
  it('lets connections wait for some seconds and closes those that would wait longer', () => {
    const limiter = new HandshakeRateLimiter();
    const waits = Array.from({ length: 2_000 }, () => limiter.admit(0));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(100);
    expect(Math.max(...waits.map((wait) => wait ?? 0))).toBe(5_000);
    expect(waits.filter((wait) => wait === undefined)).toHaveLength(900);
    expect(limiter.admit(5_000)).toBe(5);
  });
});

describe('the turns of hellos', () => {
  it('give each child its own time, and keep it', () => {
    const turns = new HelloRateLimiter();
    const names = Array.from({ length: 1_000 }, (_, i) => `kid-${i}`);
    const waits = new Map(names.map((name) => [name, turns.admit(name, 0)]));
    expect([...waits.values()].filter((wait) => wait === 0)).toHaveLength(400);
    expect(new Set([...waits.values()].filter((wait) => wait > 0)).size).toBe(600);
    const turn = waits.get('kid-999')!;
    expect(turn).toBe(1_500);
    // A child that is too early gets the same time. A child in time gets its turn, even if others come at the same time.
    expect(turns.admit('kid-999', 500)).toBe(turn - 500);
    expect(turns.admit('kid-999', turn)).toBe(0);
  });

  it('are given in whole milliseconds, as a Retry has them, whatever the clock says', () => {
    const turns = new HelloRateLimiter();
    for (let i = 0; i < 1_000; i++) turns.admit(`kid-${i}`, 0.25);
    expect(turns.admit('kid-999', 500.125)).toBe(1_001);
  });

  it('are dropped when nobody comes', () => {
    const turns = new HelloRateLimiter();
    for (let i = 0; i < 500; i++) turns.admit(`kid-${i}`, 0);
    expect(turns.admit('kid-499', 100_000)).toBe(0);
    for (let i = 0; i < 399; i++) turns.admit(`other-${i}`, 100_000);
    expect(turns.admit('kid-499', 100_000)).toBeGreaterThan(0);
  });
});

describe('the slots for reconciliations', () => {
  const take = (slots: ReconcileSlots, begun: string[], name: string, owner = {}) => {
    slots.take(owner, () => begun.push(name));
    return owner;
  };

  it('let a few begin and the others wait in order', () => {
    const slots = new ReconcileSlots(new VirtualClock());
    const begun: string[] = [];
    const owners = Array.from({ length: reconcilesMax + 2 }, (_, i) => take(slots, begun, `${i}`));
    expect(begun).toHaveLength(reconcilesMax);
    slots.release(owners[3]!);
    expect(begun.at(-1)).toBe(`${reconcilesMax}`);
    // A child with a slot continues.
    take(slots, begun, 'again', owners[0]!);
    expect(begun.at(-1)).toBe('again');
  });

  it('do not begin for a child that has gone, and continue without a child that takes long', () => {
    const clock = new VirtualClock();
    const slots = new ReconcileSlots(clock);
    const begun: string[] = [];
    const owners = Array.from({ length: reconcilesMax + 2 }, (_, i) => take(slots, begun, `${i}`));
    slots.release(owners[reconcilesMax]!);
    clock.advance(slotMs);
    expect(begun.at(-1)).toBe(`${reconcilesMax + 1}`);
    take(slots, begun, 'slow', owners[0]!);
    expect(begun.at(-1)).toBe('slow');
  });
});
