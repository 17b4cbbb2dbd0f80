/**
 * Liveness checks (beats) on the call of a stream. They are needed for two reasons: gateways close calls without traffic, and without beats a broken
 * connection looks like a peer that has nothing to send. The beats of the session are not enough, because the call may be on another connection.
 */

/** A side sends a beat if it has sent nothing else for this time. The shortest time-out of common gateways is 30 s. */
export const streamBeatEveryMs = 15_000;
/** The peer counts as dead if no byte has arrived for this time, which is four beats. */
export const streamDeathAfterMs = 60_000;

export interface StreamLife {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

export interface Pulse {
  readonly beat: boolean;
  readonly dead: boolean;
  /** Time until the next check, in ms. */
  readonly afterMs: number;
}

export function pulseOf({ sentAtMs, receivedAtMs }: StreamLife, nowMs: number): Pulse {
  const dead = nowMs - receivedAtMs >= streamDeathAfterMs;
  const beat = !dead && nowMs - sentAtMs >= streamBeatEveryMs;
  const beatAtMs = (beat ? nowMs : sentAtMs) + streamBeatEveryMs;
  return { beat, dead, afterMs: Math.min(beatAtMs, receivedAtMs + streamDeathAfterMs) - nowMs };
}
