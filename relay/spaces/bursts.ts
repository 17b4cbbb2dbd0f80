/**
 * When what was written is taken up. Now and then: at once. Where one write of a namespace follows the other, as in `kubectl apply` of a directory: in
 * company, some ms late, so that what is done for a change, but for its objects, is done for some of them together: the placement's target and its counts,
 * frames, flushes, and all of that at each node below.
 */

/** More than one write in so many ms, on average, is a burst: more than people make, and programs that look at what became of their last write. */
const usualMs = 25;
/** So many in a row, after a pause, are none. */
const atOnce = 4;
/** The most that a write waits, at its origin alone: below it, nothing waits for company. Short beside the second in which sums are told. */
const companyMs = 100;
/** Namespaces of which nothing has to be known any more are looked for when there are so many, and when there are twice as many as were left then. */
const lookedForFrom = 1_000;

interface Burst {
  /** When as many writes as came would have come, had they come as usual. */
  readonly usualUntilMs: number;
  /** What is written before goes with what waits already. */
  readonly waitsUntilMs: number;
}

export class Bursts {
  readonly #bursts = new Map<string, Burst>();
  #forgetAt = lookedForFrom;

  /** Ms until what was just written in the namespace is to be taken up. */
  waitMs(namespace: string, nowMs: number): number {
    if (this.#bursts.size >= this.#forgetAt) this.#forget(nowMs);
    const { usualUntilMs = 0, waitsUntilMs = 0 } = this.#bursts.get(namespace) ?? {};
    const untilMs = Math.max(usualUntilMs, nowMs) + usualMs;
    const isBurst = untilMs > nowMs + atOnce * usualMs;
    const isWaiting = waitsUntilMs > nowMs;
    const dueMs = isWaiting ? waitsUntilMs : isBurst ? nowMs + companyMs : nowMs;
    this.#bursts.set(namespace, {
      // A long burst is over as soon as a short one.
      usualUntilMs: Math.min(untilMs, nowMs + (atOnce + 1) * usualMs),
      waitsUntilMs: dueMs,
    });
    return dueMs - nowMs;
  }

  /** Namespaces. */
  get remembered(): number {
    return this.#bursts.size;
  }

  #forget(nowMs: number): void {
    for (const [namespace, { usualUntilMs }] of this.#bursts) {
      if (usualUntilMs <= nowMs) this.#bursts.delete(namespace);
    }
    this.#forgetAt = Math.max(lookedForFrom, 2 * this.#bursts.size);
  }
}
