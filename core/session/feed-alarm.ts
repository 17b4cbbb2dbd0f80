/**
 * Remembers for people that the two ends of a feed differed where they must not. The feed is reconciled within seconds, which nobody would see; that
 * it was necessary is a defect or a broken disk.
 */
import type { Clock, Timer } from '../runtime/clock.ts';

export interface Divergence {
  /** Wall time of the last one. */
  readonly atMs: number;
  /** Which feed, and what differed. */
  readonly what: string;
}

/** Long enough for somebody to come and look. */
const shownForMs = 24 * 3_600_000;

export class FeedAlarm {
  readonly #clock: Clock;
  /** It is over. */
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
