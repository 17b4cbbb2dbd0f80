/** How soon an object is put back that somebody has changed: a fight that neither wins must not load the cluster. */
import type { Clock } from '../../core/runtime/clock.ts';

/** Times that an object is put back at once … */
const burst = 5;
/** … and how often while someone goes on changing it. */
const intervalMs = 10_000;

interface Lately {
  /** Each time counts for an interval; until then they are not worked off. */
  readonly countsUntilMs: number;
  /** When the last one is, or was, put back: what is changed before has no other turn. */
  readonly turnMs: number;
}

export class Corrections {
  readonly #clock: Clock;
  /** Of objects that were put back lately. */
  readonly #lately = new Map<string, Lately>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Until the object is to be put back, which is counted as done then; 0: at once. */
  delayMs(key: string): number {
    const nowMs = this.#clock.monotonicMs();
    for (const [other, { countsUntilMs }] of this.#lately) if (countsUntilMs <= nowMs) this.#lately.delete(other);
    const { countsUntilMs, turnMs: lastMs } = this.#lately.get(key) ?? { countsUntilMs: nowMs, turnMs: nowMs };
    if (lastMs > nowMs) return lastMs - nowMs;
    const turnMs = Math.max(nowMs, countsUntilMs - (burst - 1) * intervalMs);
    this.#lately.set(key, { countsUntilMs: countsUntilMs + intervalMs, turnMs });
    return turnMs - nowMs;
  }
}
