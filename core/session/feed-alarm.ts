/**
 * Keeps an alarm for one day when the two ends of a feed differed and should have been equal. The node repairs the feed within seconds, so without the alarm
 * nobody would notice. But such a difference shows a bug or a broken disk.
 */
import type { Clock, Timer } from '../runtime/clock.ts';

export interface Divergence {
  /** Wall time of the newest divergence. */
  readonly atMs: number;
  /** The name of the feed, and how the ends differed. */
  readonly what: string;
}

/** Time for which the alarm is shown: long enough for a person to notice. */
const shownForMs = 24 * 3_600_000;

export class FeedAlarm {
  readonly #clock: Clock;
  /** Called when the alarm ends by itself. */
  readonly #changed: () => void;
  #present: Divergence | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  get present(): Divergence | undefined {
    return this.#present;
  }

  raise(what: string): void {
    this.#present = { atMs: this.#clock.wallMs(), what };
    this.#timer?.stop();
    this.#timer = this.#clock.after(shownForMs, () => {
      this.#present = undefined;
      this.#changed();
    });
  }
}
