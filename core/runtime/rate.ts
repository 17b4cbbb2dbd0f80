/**
 * A steady rate that allows bursts: the generic cell rate algorithm (ITU-T I.371). The state is the theoretical time of the next slot. Each used slot moves
 * this time forward by one interval. The time may be at most one burst in the past. Unlike a token bucket, the algorithm returns the time of the slot, so a
 * caller can tell each waiting client when to try again. Pure.
 */

export interface Rate {
  readonly intervalMs: number;
  readonly burst: number;
}

/** The theoretical time of the next slot. Undefined before the first slot was used. */
export type RateState = number | undefined;

/** Uses the next slot. Returns the time to wait until the slot, and the new state. */
export function nextSlot(
  { intervalMs, burst }: Rate,
  turns: RateState,
  nowMs: number,
): { waitMs: number; turns: RateState } {
  const earliest = nowMs - (burst - 1) * intervalMs;
  const turn = Math.max(turns ?? earliest, earliest);
  return { waitMs: Math.max(0, turn - nowMs), turns: turn + intervalMs };
}
