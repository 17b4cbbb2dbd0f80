/**
 * Signs of life on the call of a stream. Gateways cut calls without traffic, and a half-open connection looks like a silent peer. Sessions do the same, but
 * the call of a stream may be on another connection.
 */

/** A beat goes out when nothing else was sent for this time. The shortest time-out of common gateways is 30 s. */
export const streamBeatEveryMs = 15_000;
/** A peer from which no byte arrived for this time is gone: four beats. */
export const streamDeathAfterMs = 60_000;

export interface StreamLife {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

export interface Pulse {
  readonly beat: boolean;
  readonly dead: boolean;
  /** When to check again. */
  readonly afterMs: number;
}

export function pulseOf({ sentAtMs, receivedAtMs }: StreamLife, nowMs: number): Pulse {
  const dead = nowMs - receivedAtMs >= streamDeathAfterMs;
  const beat = !dead && nowMs - sentAtMs >= streamBeatEveryMs;
  const beatAtMs = (beat ? nowMs : sentAtMs) + streamBeatEveryMs;
  return { beat, dead, afterMs: Math.min(beatAtMs, receivedAtMs + streamDeathAfterMs) - nowMs };
}
