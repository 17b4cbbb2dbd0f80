/** Decides how soon the agent corrects an object that somebody has changed. A conflict without an end must not load the cluster. */
import type { Clock } from '../../core/runtime/clock.ts';

/** Number of corrections of one object without a delay. */
const burst = 5;
/** Interval between further corrections while somebody keeps changing the object. */
const intervalMs = 10_000;

interface RecentCorrections {
  /** The time at which the intervals of all counted corrections are over. Each correction counts for one interval. */
  readonly countsUntilMs: number;
  /** The time of the newest correction, which may be in the future. A change before this time needs no further correction. */
  readonly turnMs: number;
}

export class Corrections {
  readonly #clock: Clock;
  /** Objects that were corrected recently. */
  readonly #recent = new Map<string, RecentCorrections>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns how long to wait before the correction of the object, and counts a correction at that time. 0: correct at once. */
  delayMs(key: string): number {
    const nowMs = this.#clock.monotonicMs();
    for (const [other, { countsUntilMs }] of this.#recent) if (countsUntilMs <= nowMs) this.#recent.delete(other);
    const { countsUntilMs, turnMs: lastMs } = this.#recent.get(key) ?? { countsUntilMs: nowMs, turnMs: nowMs };
    if (lastMs > nowMs) return lastMs - nowMs;
    const turnMs = Math.max(nowMs, countsUntilMs - (burst - 1) * intervalMs);
    this.#recent.set(key, { countsUntilMs: countsUntilMs + intervalMs, turnMs });
    return turnMs - nowMs;
  }
}
