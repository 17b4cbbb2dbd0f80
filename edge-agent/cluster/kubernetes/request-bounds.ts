/**
 * Limits the requests of the agent to its API server: requests a second, requests at once, and the bytes of these requests in memory. Measures how long
 * requests wait for each limit.
 */
import type { Clock } from '../../../core/runtime/clock.ts';
import { TokenBucket } from '../../../core/runtime/token-bucket.ts';
import { shownBytes } from '../../limits/byte-quantity.ts';
import type { LimitUse } from '../../limits/limit-use.ts';
import { ByteBudget, type BytesHeld } from './byte-budget.ts';
import type { ClientLimits } from './client-limits.ts';

const field = 'cluster.kubernetes.limits';

export class RequestBounds {
  readonly #clock: Clock;
  readonly #limits: ClientLimits;
  readonly #bucket: TokenBucket;
  readonly #bytes: ByteBudget;
  readonly #waiting: (() => void)[] = [];
  readonly #rate: Waits;
  readonly #slots: Waits;
  readonly #room: Waits;
  /** The times at which the recent requests began. */
  readonly #begun: number[] = [];
  #inFlight = 0;

  constructor(limits: ClientLimits, clock: Clock) {
    this.#clock = clock;
    this.#limits = limits;
    this.#bucket = new TokenBucket(limits.requestsPerSecond, 1_000 / limits.requestsPerSecond, clock.monotonicMs());
    this.#bytes = new ByteBudget(limits.inFlightBytes);
    this.#rate = new Waits(clock);
    this.#slots = new Waits(clock);
    this.#room = new Waits(clock);
  }

  /** How many bytes one request and its answer may have together. */
  get bytesMax(): number {
    return this.#bytes.eachMax;
  }

  /** Resolves when the request may be sent. The caller calls the resulting function when the request is over. */
  async slot(): Promise<() => void> {
    if (this.#inFlight >= this.#limits.inFlight)
      await this.#slots.of(new Promise<void>((resolve) => this.#waiting.push(resolve)));
    else this.#inFlight++;
    // If other requests wait, the slot goes directly to the next of them.
    const release = () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inFlight--;
    };
    try {
      await this.permit();
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  /** Applies only the rate, for long requests such as watches. */
  async permit(): Promise<void> {
    const ms = this.#bucket.take(this.#clock.monotonicMs());
    if (ms > 0) await this.#rate.of(this.#waitForPermit(ms));
    this.#begun.push(this.#clock.monotonicMs());
    this.#forgetBegun();
  }

  bytes(): BytesHeld {
    const held = this.#bytes.hold();
    return {
      take: (bytes) => {
        const taken = held.take(bytes);
        return taken && this.#room.of(taken);
      },
      end: () => held.end(),
    };
  }

  uses(): readonly LimitUse[] {
    this.#forgetBegun();
    return [
      this.#use('requestsPerSecond', 'RequestRate', this.#begun.length, this.#rate),
      this.#use('inFlight', 'RequestsInFlight', this.#inFlight, this.#slots),
      {
        ...this.#use('inFlightBytes', 'BytesInFlight', this.#bytes.used, this.#room),
        shown: shownBytes(this.#limits.inFlightBytes),
        remedy:
          'raise it if this machine has the memory: each byte of it needs about five bytes of memory while it is read',
      },
    ];
  }

  #use(name: keyof ClientLimits, reason: string, used: number, waits: Waits): LimitUse {
    const max = this.#limits[name];
    const remedy = 'raise it if the API server can bear more, or place less here';
    return { field: `${field}.${name}`, reason, max, shown: String(max), used, waitedMs: waits.totalMs(), remedy };
  }

  async #waitForPermit(firstMs: number): Promise<void> {
    for (let ms = firstMs; ms > 0; ms = this.#bucket.take(this.#clock.monotonicMs())) {
      await new Promise<void>((resolve) => this.#clock.after(ms, resolve));
    }
  }

  /** Forgets requests that began more than a second ago. So the rate also limits the length of the list. */
  #forgetBegun(): void {
    const sinceMs = this.#clock.monotonicMs() - 1_000;
    while ((this.#begun[0] ?? Number.POSITIVE_INFINITY) < sinceMs) this.#begun.shift();
  }
}

/** The sum of the times that requests have waited for one limit. */
class Waits {
  readonly #clock: Clock;
  #overMs = 0;
  #waiting = 0;
  /** The sum of the times at which the present waits began. */
  #sumOfBegun = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async of(wait: Promise<void>): Promise<void> {
    const begunMs = this.#clock.monotonicMs();
    this.#waiting++;
    this.#sumOfBegun += begunMs;
    await wait;
    this.#waiting--;
    this.#sumOfBegun -= begunMs;
    this.#overMs += this.#clock.monotonicMs() - begunMs;
  }

  totalMs(): number {
    return this.#overMs + this.#waiting * this.#clock.monotonicMs() - this.#sumOfBegun;
  }
}
