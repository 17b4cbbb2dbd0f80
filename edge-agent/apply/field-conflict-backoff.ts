/**
 * Objects that are put back again and again: who changes them does not give up, and whoever looks at the placement has to know. Also where that one is slow enough to
 * be put back at once each time, as an autoscaler that looks every 15 s.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { TokenBucket } from '../../core/runtime/token-bucket.ts';

/** A person who tries something is put back so many times at most … */
const burst = 5;
/** … and what goes on oftener than this is a fight. */
const intervalMs = 60_000;
/** A fight in which nothing was put back for this long is over: four rounds of an autoscaler. */
const quietMs = 60_000;

/** Of an object that was put back within the last minutes. */
interface Lately {
  readonly patience: TokenBucket;
  atMs: number;
  /** It is fought for, and this is changed of it. */
  words?: string;
}

export class FieldConflictBackoff {
  readonly #clock: Clock;
  readonly #over: (key: string) => void;
  readonly #lately = new Map<string, Lately>();
  #timer: Timer | undefined;

  /** `over`: the fight for the object has ended. */
  constructor(clock: Clock, over: (key: string) => void) {
    this.#clock = clock;
    this.#over = over;
  }

  /** `words`: what had been changed of it. */
  putBack(key: string, words: string): void {
    const nowMs = this.#clock.monotonicMs();
    const lately = this.#lately.get(key) ?? { patience: new TokenBucket(burst, intervalMs, nowMs), atMs: nowMs };
    this.#lately.set(key, lately);
    lately.atMs = nowMs;
    const isTooOften = lately.patience.take(nowMs) > 0;
    if (isTooOften || lately.words !== undefined) lately.words = words;
    this.#watch();
  }

  /** What is changed of the object again and again; undefined: nothing. */
  messageOf(key: string): string | undefined {
    return this.#lately.get(key)?.words;
  }

  stop(): void {
    this.#timer?.stop();
  }

  #watch(): void {
    if (this.#timer || this.#lately.size === 0) return;
    this.#timer = this.#clock.after(quietMs, () => {
      this.#timer = undefined;
      this.#endQuiet();
      this.#watch();
    });
  }

  #endQuiet(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, lately] of this.#lately) {
      const isOver = lately.words !== undefined && nowMs - lately.atMs >= quietMs;
      if (isOver) delete lately.words;
      if (lately.words === undefined && lately.patience.isIdle(nowMs)) this.#lately.delete(key);
      if (isOver) this.#over(key);
    }
  }
}
