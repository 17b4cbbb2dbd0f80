/**
 * Lets a burst through at once, then a steady rate. A node uses such a bucket for reports: it reports a rare change at once, and a value that changes all
 * the time once per interval.
 */
export class TokenBucket {
  readonly #burst: number;
  readonly #intervalMs: number;
  #tokens: number;
  #filledAtMs: number;

  /** The bucket holds at most `burst` tokens, and gets one more each `intervalMs`. */
  constructor(burst: number, intervalMs: number, nowMs: number) {
    this.#burst = burst;
    this.#intervalMs = intervalMs;
    this.#tokens = burst;
    this.#filledAtMs = nowMs;
  }

  /** Takes a token and returns 0. If the bucket has no token, returns the ms until it gets one. */
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

  /** True if the bucket is full. A full bucket behaves like a new one, so its owner may delete it. */
  isIdle(nowMs: number): boolean {
    return this.#tokens + (nowMs - this.#filledAtMs) / this.#intervalMs >= this.#burst;
  }
}
