/**
 * A steady rate with a burst: the generic cell rate algorithm (ITU-T I.371). The state is the theoretical time of the next slot. Each slot moves it on by one
 * interval, and it may lie in the past by up to one burst. Unlike a token bucket, the algorithm gives the time of the slot, so that a caller can give each
 * waiter a time to come back. Pure.
 */

export interface Rate {
  readonly intervalMs: number;
  readonly burst: number;
}

/** The theoretical time of the next slot; undefined before the first. */
export type RateState = number | undefined;

/** The time from now to the next slot, and the state after the slot is taken. */
export function nextSlot(
  { intervalMs, burst }: Rate,
  turns: RateState,
  nowMs: number,
): { waitMs: number; turns: RateState } {
  const earliest = nowMs - (burst - 1) * intervalMs;
  const turn = Math.max(turns ?? earliest, earliest);
  return { waitMs: Math.max(0, turn - nowMs), turns: turn + intervalMs };
}
