/**
 * A steady rate with a burst, as turns: the generic cell rate algorithm (ITU-T I.371), a theoretical time of the next turn that moves on by an interval
 * each and may lie back by a burst. Unlike a bucket it says when a turn is, so that those who wait can be told. Pure.
 */

export interface Rate {
  readonly intervalMs: number;
  readonly burst: number;
}

/** The theoretical time of the next turn; undefined before the first. */
export type RateState = number | undefined;

/** When the next one has its turn, counted from now, and the state once it has taken it. */
export function nextSlot(
  { intervalMs, burst }: Rate,
  turns: RateState,
  nowMs: number,
): { waitMs: number; turns: RateState } {
  const earliest = nowMs - (burst - 1) * intervalMs;
  const turn = Math.max(turns ?? earliest, earliest);
  return { waitMs: Math.max(0, turn - nowMs), turns: turn + intervalMs };
}
