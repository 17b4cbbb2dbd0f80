/**
 * Gives turns to Hellos. Each Hello costs a flush and some reads of tables. So when all children come at once, the parent admits them at a steady rate. A
 * child that has to wait gets the time after which to come again. If it comes then, it has its turn, however many others come as well. (The handshake rate
 * limiter of the listener comes first, core/wire/network/handshake-rate-limiter.ts: it saves handshakes, and cannot send the child anything.)
 */
import { nextSlot, type RateState } from '../runtime/rate.ts';

/** Where the listener has a handshake rate limiter, the limiter has spread the Hellos already. */
export const helloPerSecond = 400;
export const helloBurst = 400;
/** A child that comes up to this much before its turn is admitted. */
const earlyMs = 250;
/** A turn that the child has not taken within this time is forgotten. */
const lateMs = 30_000;
/** Number of turns that the node remembers. A further child gets the longest wait. */
const turnsMax = 20_000;
const longestWaitMs = 60_000;

/** Gives each Hello a turn: now, or at a later time. */
export class HelloRateLimiter {
  readonly #turnsAtMs = new Map<string, number>();
  #rate: RateState;

  /** 0: the child is admitted now. Otherwise: the ms after which the child should come again. */
  admit(child: string, nowMs: number): number {
    const turnMs = this.#turnsAtMs.get(child);
    if (turnMs !== undefined && nowMs <= turnMs + lateMs) {
      if (nowMs < turnMs - earlyMs) return Math.ceil(turnMs - nowMs);
      this.#turnsAtMs.delete(child);
      return 0;
    }
    this.#turnsAtMs.delete(child);
    if (this.#turnsAtMs.size >= turnsMax) this.#forgetLate(nowMs);
    if (this.#turnsAtMs.size >= turnsMax) return longestWaitMs;
    const { waitMs, turns } = nextSlot({ intervalMs: 1_000 / helloPerSecond, burst: helloBurst }, this.#rate, nowMs);
    this.#rate = turns;
    if (waitMs > 0) this.#turnsAtMs.set(child, nowMs + waitMs);
    return Math.ceil(waitMs);
  }

  #forgetLate(nowMs: number): void {
    for (const [child, turnMs] of this.#turnsAtMs) if (turnMs + lateMs < nowMs) this.#turnsAtMs.delete(child);
  }
}
