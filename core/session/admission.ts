/**
 * Turns for hellos: each costs a flush and a look at tables, so when all children come at once they are let in at a steady rate, and who has to wait is
 * told until when. A child has its turn when it comes then, however many others come as well. (The listener's door is before this, core/wire/network/handshake-rate-limiter.ts:
 * it spares handshakes, and can say nothing.)
 */
import { nextSlot, type RateState } from '../runtime/rate.ts';

/** The door has spread them already, where there is one. */
export const helloPerSecond = 400;
export const helloBurst = 400;
/** A child that comes a little before its turn has it. */
const earlyMs = 250;
/** A turn that is not taken within this time is forgotten. */
const lateMs = 30_000;
/** Turns that are remembered; children beyond are told the longest wait. */
const turnsMax = 20_000;
const longestWaitMs = 60_000;

/** Hellos: each has a turn, now or at a time that it is told. */
export class HelloRateLimiter {
  readonly #given = new Map<string, number>();
  #turns: RateState;

  /** 0: now. Otherwise the ms after which the child is to come again. */
  admit(child: string, nowMs: number): number {
    const given = this.#given.get(child);
    if (given !== undefined && nowMs <= given + lateMs) {
      if (nowMs < given - earlyMs) return Math.ceil(given - nowMs);
      this.#given.delete(child);
      return 0;
    }
    this.#given.delete(child);
    if (this.#given.size >= turnsMax) this.#forgetLate(nowMs);
    if (this.#given.size >= turnsMax) return longestWaitMs;
    const { waitMs, turns } = nextSlot({ intervalMs: 1_000 / helloPerSecond, burst: helloBurst }, this.#turns, nowMs);
    this.#turns = turns;
    if (waitMs > 0) this.#given.set(child, nowMs + waitMs);
    return Math.ceil(waitMs);
  }

  #forgetLate(nowMs: number): void {
    for (const [child, turn] of this.#given) if (turn + lateMs < nowMs) this.#given.delete(child);
  }
}
