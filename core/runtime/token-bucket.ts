/**
 * Lets a burst through at once, and then a steady rate. With such a bucket, a node reports a rare change at once, and a value that changes all the time
 * once per interval.
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

  /** Takes a token and returns 0. Without a token, returns the ms until there is one. */
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

  /** True if the bucket is full again. A full bucket equals a new one, so its owner may drop it. */
  isIdle(nowMs: number): boolean {
    return this.#tokens + (nowMs - this.#filledAtMs) / this.#intervalMs >= this.#burst;
  }
}
