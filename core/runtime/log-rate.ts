/** Limits the lines of one kind in the log. A peer that misbehaves can cause one cause after the other; the first lines and the metrics are enough to notice. */
import type { Clock } from './clock.ts';

export class LogRate {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #everyMs: number;
  /** Bound: one for each key, and the caller forgets keys. */
  readonly #lastMs = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** Returns whether a line about this key may be written now, and counts it as written. */
  allows(key: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#lastMs.get(key);
    if (lastMs !== undefined && nowMs - lastMs < this.#everyMs) return false;
    this.#lastMs.set(key, nowMs);
    return true;
  }

  forget(key: string): void {
    this.#lastMs.delete(key);
  }
}
