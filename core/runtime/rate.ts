/**
 * A steady rate with a burst: the generic cell rate algorithm (ITU-T I.371). Its state is a theoretical time of the next slot, which moves on by one interval
 * for each slot and may lie back by a burst. Unlike a token bucket, the algorithm gives the time of the slot, so that a caller can tell each waiter when to come. Pure.
 */

export interface Rate {
  readonly intervalMs: number;
  readonly burst: number;
}

/** The theoretical time of the next slot; undefined before the first. */
export type RateState = number | undefined;

/** How long until the next slot, counted from now, and the state once the slot is taken. */
export function nextSlot(
  { intervalMs, burst }: Rate,
  turns: RateState,
  nowMs: number,
): { waitMs: number; turns: RateState } {
  const earliest = nowMs - (burst - 1) * intervalMs;
  const turn = Math.max(turns ?? earliest, earliest);
  return { waitMs: Math.max(0, turn - nowMs), turns: turn + intervalMs };
}
