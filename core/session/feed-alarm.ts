/**
 * Remembers for people that the two ends of a feed differed where they must not differ. The feed is reconciled within seconds, so nobody would notice. But
 * the need for the reconciliation shows a defect or a broken disk.
 */
import type { Clock, Timer } from '../runtime/clock.ts';

export interface Divergence {
  /** Wall time of the newest divergence. */
  readonly atMs: number;
  /** Which feed, and what differed. */
  readonly what: string;
}

/** Long enough for a person to notice. */
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
