/**
 * Lets a burst through at once and then a steady rate: what changes rarely is told at once, what changes all the time is
 * told once an interval.
 */
export class TokenBucket {
  readonly #burst: number;
  readonly #intervalMs: number;
  #tokens: number;
  #filledAtMs: number;

  /** `burst` tokens at most, one more each `intervalMs`. */
  constructor(burst: number, intervalMs: number, nowMs: number) {
    this.#burst = burst;
    this.#intervalMs = intervalMs;
    this.#tokens = burst;
    this.#filledAtMs = nowMs;
  }

  /** Takes a token; 0 if there was one, otherwise the ms until there is. */
  take(nowMs: number): number {
    const gained = (nowMs - this.#filledAtMs) / this.#intervalMs;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#filledAtMs = nowMs;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return 0;
    }
    return Math.ceil((1 - this.#tokens) * this.#intervalMs);
  }

  /** Full again: nothing would be remembered by keeping it. */
  isIdle(nowMs: number): boolean {
    return this.#tokens + (nowMs - this.#filledAtMs) / this.#intervalMs >= this.#burst;
  }
}
