import { describe, expect, it } from 'vitest';
import {
  fresherByMs,
  leaveSpreadMs,
  onRootReport,
  onSessionChanged,
  type RootWatch,
  returnDelayFactor,
  rootStaleMs,
  rootWatch,
  staysForMs,
} from '../../../../core/session/root-watch.ts';

const beatMs = 15_000;

/** Sends beats of a replica until the child leaves it or the time is over; returns the time at which the child leaves. */
function beats(
  watch: RootWatch,
  {
    fromMs,
    forMs,
    isHome = true,
    ageMs,
  }: { fromMs: number; forMs: number; isHome?: boolean; ageMs: (atMs: number) => number },
  fraction = 0.5,
): { watch: RootWatch; leftAtMs: number | undefined } {
  let now = watch;
  for (let atMs = fromMs; atMs <= fromMs + forMs; atMs += beatMs) {
    const { watch: next, leaves } = onRootReport(now, { ageMs: ageMs(atMs), nowMs: atMs, isHome }, () => fraction);
    now = next;
    if (leaves) return { watch: now, leftAtMs: atMs };
  }
  return { watch: now, leftAtMs: undefined };
}
/** Beats of a replica that received from the root at 0 for the last time. */
const cutOff = (atMs: number) => atMs;
const day = 86_400_000;

describe('a child of replicas that watches the age of the root', () => {
  it('stays for good while the root is fresh', () => {
    expect(beats(rootWatch, { fromMs: 0, forMs: day, ageMs: () => rootStaleMs - 1 }).leftAtMs).toBeUndefined();
  });

  it('leaves a replica that has received nothing for three minutes, at a random time within a minute', () => {
    const leftAt = (fraction: number) => beats(rootWatch, { fromMs: 0, forMs: day, ageMs: cutOff }, fraction).leftAtMs!;
    expect(leftAt(0)).toBe(rootStaleMs);
    expect(leftAt(0.5)).toBe(rootStaleMs + leaveSpreadMs / 2);
    expect(leftAt(0.999)).toBeLessThanOrEqual(rootStaleMs + leaveSpreadMs + beatMs);
  });

  it('does not leave a replica that receives from the root again while the child waits', () => {
    const waiting = beats(rootWatch, { fromMs: 0, forMs: rootStaleMs + beatMs, ageMs: cutOff }, 0.9);
    expect(waiting.leftAtMs).toBeUndefined();
    const again = onRootReport(waiting.watch, { ageMs: 0, nowMs: rootStaleMs + 2 * beatMs, isHome: true }, () => 0);
    expect([again.leaves, again.watch.leavesAtMs]).toEqual([false, undefined]);
  });

  it('stays for ten minutes at its new replica, and counts the change as worth it if the root is fresher there by a margin', () => {
    const left = beats(rootWatch, { fromMs: 0, forMs: day, ageMs: cutOff });
    const atMs = left.leftAtMs! + 2_000;
    const judged = (ageMs: number) => onRootReport(left.watch, { ageMs, nowMs: atMs, isHome: false }, () => 0).watch;
    expect(judged(atMs - fresherByMs)).toMatchObject({
      vainMoves: 0,
      departure: undefined,
      staysUntilMs: atMs + staysForMs,
    });
    expect(judged(atMs - fresherByMs + 1)).toMatchObject({ vainMoves: 1, staysUntilMs: atMs + 2 * staysForMs });
  });

  it('changes less than ten times a day if all replicas are cut off', () => {
    let [watch, atMs, moves, isHome] = [rootWatch, 0, 0, true];
    for (;;) {
      const { watch: next, leftAtMs } = beats(watch, { fromMs: atMs, forMs: day - atMs, isHome, ageMs: cutOff });
      if (leftAtMs === undefined) break;
      [watch, atMs, moves, isHome] = [onSessionChanged(next, true), leftAtMs + 2_000, moves + 1, !isHome];
    }
    expect(moves).toBeGreaterThan(5);
    expect(moves).toBeLessThan(10);
  });

  it('doubles its way home each time that the home was cut off, until the root is fresh there', () => {
    let watch: RootWatch = rootWatch;
    const factors: number[] = [];
    for (let round = 0; round < 5; round++) {
      const atMs = round * day;
      watch = beats(watch, { fromMs: atMs, forMs: day, ageMs: () => rootStaleMs }).watch;
      watch = onRootReport(watch, { ageMs: 0, nowMs: atMs + rootStaleMs, isHome: false }, () => 0).watch;
      factors.push(returnDelayFactor(watch));
    }
    expect(factors).toEqual([2, 4, 8, 8, 8]);
    const fresh = onRootReport(watch, { ageMs: 0, nowMs: 9 * day, isHome: true }, () => 0).watch;
    expect(returnDelayFactor(fresh)).toBe(1);
  });

  it('starts its waiting time anew in another session', () => {
    const waiting = beats(rootWatch, { fromMs: 0, forMs: rootStaleMs, ageMs: cutOff }, 0.9).watch;
    expect(waiting.leavesAtMs).toBeDefined();
    expect(onSessionChanged(waiting, false).leavesAtMs).toBeUndefined();
    expect(onSessionChanged(rootWatch, false)).toBe(rootWatch);
  });

  it('does not stay with a cut-off replica because an earlier session elsewhere was worth it', () => {
    const left = beats(rootWatch, { fromMs: 0, forMs: day, ageMs: cutOff });
    const atMs = left.leftAtMs! + 2_000;
    const found = onRootReport(
      onSessionChanged(left.watch, true),
      { ageMs: 0, nowMs: atMs, isHome: false },
      () => 0,
    ).watch;
    expect(onSessionChanged(found, false).staysUntilMs).toBe(atMs + staysForMs);
    const thrownBack = onSessionChanged(found, true);
    expect(onRootReport(thrownBack, { ageMs: atMs + 9_000, nowMs: atMs + 9_000, isHome: true }, () => 0).leaves).toBe(
      true,
    );
  });
});
