/** How soon an object is put back that somebody has changed: a fight that neither wins must not load the cluster. */
import type { Clock } from '../../core/runtime/clock.ts';
import { TokenBucket } from '../../core/runtime/token-bucket.ts';

/** Times that an object is put back at once … */
const burst = 5;
/** … and how often while someone goes on changing it. */
const intervalMs = 10_000;

export class Corrections {
  readonly #clock: Clock;
  /** Of objects that were put back lately. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For one more of the object; 0: at once. */
  delayMs(key: string): number {
    const nowMs = this.#clock.monotonicMs();
    for (const [other, bucket] of this.#buckets) if (bucket.isIdle(nowMs)) this.#buckets.delete(other);
    const bucket = this.#buckets.get(key) ?? new TokenBucket(burst, intervalMs, nowMs);
    this.#buckets.set(key, bucket);
    return bucket.take(nowMs);
  }
}
