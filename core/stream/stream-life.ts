/**
 * Signs of life on the call of a stream: gateways cut calls on which nothing goes, and a connection that is only half there looks like a
 * peer that has nothing to say. As with sessions, but on the stream's own call, which may be on another connection.
 */

/** When nothing else was sent for so long; the shortest patience of gateways in common use is 30 s. */
export const streamBeatEveryMs = 15_000;
/** Without a byte for so long the peer is gone: four beats. */
export const streamDeathAfterMs = 60_000;

export interface StreamLife {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

export interface Pulse {
  readonly beat: boolean;
  readonly dead: boolean;
  /** When to look again. */
  readonly afterMs: number;
}

export function pulseOf({ sentAtMs, receivedAtMs }: StreamLife, nowMs: number): Pulse {
  const dead = nowMs - receivedAtMs >= streamDeathAfterMs;
  const beat = !dead && nowMs - sentAtMs >= streamBeatEveryMs;
  const beatAtMs = (beat ? nowMs : sentAtMs) + streamBeatEveryMs;
  return { beat, dead, afterMs: Math.min(beatAtMs, receivedAtMs + streamDeathAfterMs) - nowMs };
}
