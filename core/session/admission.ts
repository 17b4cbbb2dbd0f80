/**
 * Storms: after a relay's restart all its children come at once, and each costs a handshake with signatures and a flush. They are let in at a steady
 * rate: at the door, before anything of them is read or proven, connections wait a little for their turn, and those for whom it would be too long are
 * closed and come again by their own backoff; at the hello, a child is told when its turn is, and has it when it comes then.
 *
 * The rule is the generic cell rate algorithm (ITU-T I.371): a theoretical time of the next turn that moves on by an interval each, and may lie back
 * by a burst. Pure.
 */

/** A handshake is some 2 ms of a core at either end: half a core at most goes into a storm. */
const doorPerSecond = 200;
/** Connections that are let in at once: a small tree never waits. */
const doorBurst = 100;
/** How long a connection may wait at the door; a dialer gives up after 10 s, and the handshake comes after. */
const doorWaitMaxMs = 5_000;
/** Of hellos: the door has spread them already, where there is one. */
const helloPerSecond = 400;
const helloBurst = 400;
/** A child that comes a little before its turn has it. */
const earlyMs = 250;
/** A turn that is not taken within this time is forgotten. */
const lateMs = 30_000;
/** Turns that are remembered; children beyond are told the longest wait. */
const turnsMax = 20_000;
const longestWaitMs = 60_000;

export interface Rate {
  readonly intervalMs: number;
  readonly burst: number;
}

/** The theoretical time of the next turn; undefined before the first. */
export type Turns = number | undefined;

/** When the next one has its turn, counted from now, and the state once it has taken it. */
export function nextTurn({ intervalMs, burst }: Rate, turns: Turns, nowMs: number): { waitMs: number; turns: Turns } {
  const earliest = nowMs - (burst - 1) * intervalMs;
  const turn = Math.max(turns ?? earliest, earliest);
  return { waitMs: Math.max(0, turn - nowMs), turns: turn + intervalMs };
}

/** What the listener asks for each connection, before its handshake. */
export class Door {
  #turns: Turns;

  /** Ms to wait before the handshake; undefined: it is closed. */
  admit(nowMs: number): number | undefined {
    const { waitMs, turns } = nextTurn({ intervalMs: 1_000 / doorPerSecond, burst: doorBurst }, this.#turns, nowMs);
    if (waitMs > doorWaitMaxMs) return undefined;
    this.#turns = turns;
    return waitMs;
  }
}

/** Hellos: each has a turn, now or at a time that it is told. */
export class HelloTurns {
  readonly #given = new Map<string, number>();
  #turns: Turns;

  /** 0: now. Otherwise the ms after which the child is to come again. */
  admit(child: string, nowMs: number): number {
    const given = this.#given.get(child);
    if (given !== undefined && nowMs <= given + lateMs) {
      if (nowMs < given - earlyMs) return given - nowMs;
      this.#given.delete(child);
      return 0;
    }
    this.#given.delete(child);
    if (this.#given.size >= turnsMax) this.#forgetLate(nowMs);
    if (this.#given.size >= turnsMax) return longestWaitMs;
    const { waitMs, turns } = nextTurn({ intervalMs: 1_000 / helloPerSecond, burst: helloBurst }, this.#turns, nowMs);
    this.#turns = turns;
    if (waitMs > 0) this.#given.set(child, nowMs + waitMs);
    return Math.ceil(waitMs);
  }

  #forgetLate(nowMs: number): void {
    for (const [child, turn] of this.#given) if (turn + lateMs < nowMs) this.#given.delete(child);
  }
}
