/**
 * Gives turns to Hellos. Each Hello costs a flush and some reads of tables. So if all children connect at the same time, the parent admits them at a steady
 * rate. A child that has to wait receives the time after which it should connect again. At that time it has a reserved turn, no matter how many other
 * children connect then. Before its Hello, a connection passes the handshake rate limiter of the listener (core/wire/network/handshake-rate-limiter.ts).
 * That limiter saves TLS handshakes, and cannot send the child a time.
 */
import { nextSlot, type RateState } from '../runtime/rate.ts';

/** Rate of admission. If the listener has a handshake rate limiter, then the Hellos are already spread, and this limit is rarely reached. */
export const helloPerSecond = 400;
export const helloBurst = 400;
/** A child that connects up to this time before its turn is admitted. */
const earlyMs = 250;
/** A turn ends if the child does not use it within this time. */
const lateMs = 30_000;
/** Limit for the reserved turns. Each further child gets `longestWaitMs`, without a reserved turn. */
const turnsMax = 20_000;
const longestWaitMs = 60_000;

/** Gives each Hello a turn: immediately, or at a later time. */
export class HelloRateLimiter {
  readonly #turnsAtMs = new Map<string, number>();
  #rate: RateState;

  /** Returns 0 if the child is admitted. Otherwise, returns the time in ms after which the child should connect again. */
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
