/**
 * Finds objects that the agent corrects again and again. Whoever changes such an object does not give up, and the people who look at the placement have to
 * know. This includes a slow writer whose changes are corrected at once each time, such as an autoscaler that acts every 15 s.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { TokenBucket } from '../../core/runtime/token-bucket.ts';

/** A person who tries something causes this many corrections at most … */
const burst = 5;
/** … and corrections that happen more often than this are a conflict. */
const intervalMs = 60_000;
/** A conflict without a correction for this long has ended: four rounds of an autoscaler. */
const quietMs = 60_000;

/** An object that was corrected within the last minutes. */
interface Lately {
  readonly patience: TokenBucket;
  atMs: number;
  /** Present during a conflict: says which fields somebody changes. */
  words?: string;
}

export class FieldConflictBackoff {
  readonly #clock: Clock;
  readonly #over: (key: string) => void;
  readonly #lately = new Map<string, Lately>();
  #timer: Timer | undefined;

  /** `over`: the conflict about the object has ended. */
  constructor(clock: Clock, over: (key: string) => void) {
    this.#clock = clock;
    this.#over = over;
  }

  /** `words`: says which fields somebody had changed. */
  putBack(key: string, words: string): void {
    const nowMs = this.#clock.monotonicMs();
    const lately = this.#lately.get(key) ?? { patience: new TokenBucket(burst, intervalMs, nowMs), atMs: nowMs };
    this.#lately.set(key, lately);
    lately.atMs = nowMs;
    const isTooOften = lately.patience.take(nowMs) > 0;
    if (isTooOften || lately.words !== undefined) lately.words = words;
    this.#watch();
  }

  /** Says which fields of the object somebody changes again and again. Undefined: there is no conflict. */
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
