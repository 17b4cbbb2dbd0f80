/**
 * Decides how long a write waits before the selection processes it. A single write does not wait. In a burst of writes to one namespace (for example `kubectl
 * apply` of a directory), writes wait some ms and are processed together. So the work that does not depend on the number of objects is done once for several
 * writes: targets, counts, frames and flushes, at this node and at each node below.
 */

/** More than one write in this time, on average, is a burst. People do not write so fast, and programs that read the result of each write do not either. */
const usualMs = 25;
/** After a pause, this many writes in a row do not count as a burst. */
const writesWithoutBurst = 4;
/** The longest wait of a write. Only the origin waits; nodes below do not. The wait is short compared with the second after which sums are reported. */
export const burstWaitMs = 100;
/**
 * When this many namespaces are remembered, those that are no longer needed are forgotten. This happens again when twice as many are remembered as remained.
 */
const forgetFrom = 1_000;

interface Burst {
  /** The time at which the writes so far would have arrived at the usual rate. */
  readonly usualUntilMs: number;
  /** A write before this time is processed together with the writes that wait already. */
  readonly waitsUntilMs: number;
}

export class Bursts {
  readonly #bursts = new Map<string, Burst>();
  #forgetAt = forgetFrom;

  /** Returns the number of ms until a write to the namespace has to be processed. */
  waitMs(namespace: string, nowMs: number): number {
    if (this.#bursts.size >= this.#forgetAt) this.#forget(nowMs);
    const { usualUntilMs = 0, waitsUntilMs = 0 } = this.#bursts.get(namespace) ?? {};
    const untilMs = Math.max(usualUntilMs, nowMs) + usualMs;
    const isBurst = untilMs > nowMs + writesWithoutBurst * usualMs;
    const isWaiting = waitsUntilMs > nowMs;
    const dueMs = isWaiting ? waitsUntilMs : isBurst ? nowMs + burstWaitMs : nowMs;
    this.#bursts.set(namespace, {
      // The upper bound lets a long burst end as fast as a short one.
      usualUntilMs: Math.min(untilMs, nowMs + (writesWithoutBurst + 1) * usualMs),
      waitsUntilMs: dueMs,
    });
    return dueMs - nowMs;
  }

  /** The number of remembered namespaces. */
  get remembered(): number {
    return this.#bursts.size;
  }

  #forget(nowMs: number): void {
    for (const [namespace, { usualUntilMs }] of this.#bursts) {
      if (usualUntilMs <= nowMs) this.#bursts.delete(namespace);
    }
    this.#forgetAt = Math.max(forgetFrom, 2 * this.#bursts.size);
  }
}
