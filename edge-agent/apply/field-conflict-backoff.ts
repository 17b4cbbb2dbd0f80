/**
 * Finds objects that the agent corrects again and again. The other writer of such an object does not stop, and the people who look at the placement must see
 * this. A slow writer counts too, such as an autoscaler that acts every 15 s and whose changes are corrected at once each time.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { TokenBucket } from '../../core/runtime/token-bucket.ts';

/** Number of corrections that are no conflict yet: a person changes an object once, and then sees that the agent has corrected it. */
const burst = 1;
/** After the first `burst` corrections, corrections that follow each other faster than this are a conflict: four rounds of an autoscaler. */
const intervalMs = 60_000;
/** A conflict without a correction for this many of its last rounds has ended. Three rounds: one may be late. */
const quietRounds = 3;
/** A conflict lasts at least this long after its last correction: two rounds of an autoscaler, which acts every 15 s. */
const quietMinMs = 30_000;
/** Interval of the checks whether a conflict has ended. */
const checkMs = 5_000;

/** An object that was corrected within the last minutes. */
interface RecentCorrections {
  readonly rate: TokenBucket;
  atMs: number;
  /** The time between the last two corrections. */
  roundMs: number;
  /** Present during a conflict. The message names the fields that somebody changes. */
  message?: string;
}

export class FieldConflictBackoff {
  readonly #clock: Clock;
  readonly #ended: (key: string) => void;
  readonly #recent = new Map<string, RecentCorrections>();
  #timer: Timer | undefined;

  /** `ended` is called when the conflict about an object has ended. */
  constructor(clock: Clock, ended: (key: string) => void) {
    this.#clock = clock;
    this.#ended = ended;
  }

  /** `message` names the fields that somebody had changed. */
  corrected(key: string, message: string): void {
    const nowMs = this.#clock.monotonicMs();
    const fresh = { rate: new TokenBucket(burst, intervalMs, nowMs), atMs: nowMs, roundMs: 0 };
    const recent: RecentCorrections = this.#recent.get(key) ?? fresh;
    this.#recent.set(key, recent);
    recent.roundMs = nowMs - recent.atMs;
    recent.atMs = nowMs;
    const isTooOften = recent.rate.take(nowMs) > 0;
    if (isTooOften || recent.message !== undefined) recent.message = message;
    this.#watch();
  }

  /** Returns the message about the fields that somebody changes again and again. Undefined: there is no conflict. */
  messageOf(key: string): string | undefined {
    return this.#recent.get(key)?.message;
  }

  stop(): void {
    this.#timer?.stop();
  }

  #watch(): void {
    if (this.#timer || this.#recent.size === 0) return;
    this.#timer = this.#clock.after(checkMs, () => {
      this.#timer = undefined;
      this.#endQuiet();
      this.#watch();
    });
  }

  #endQuiet(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, recent] of this.#recent) {
      const isOver =
        recent.message !== undefined && nowMs - recent.atMs >= Math.max(quietMinMs, quietRounds * recent.roundMs);
      if (isOver) delete recent.message;
      if (recent.message === undefined && recent.rate.isIdle(nowMs)) this.#recent.delete(key);
      if (isOver) this.#ended(key);
    }
  }
}
