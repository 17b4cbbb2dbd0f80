/** Enforces `spec.limits` of a Space. The limits are read for each write and request, so a change applies at once. A lower limit deletes nothing. */

import { forbidden } from '../../core/apiserver/status-errors.ts';
import type { WriteQuota } from '../../core/apiserver/verbs/embedded-space.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { TokenBucket } from '../../core/runtime/token-bucket.ts';
import type { SpaceLimits } from './space-settings.ts';
import type { Usage } from './space-usage.ts';

export interface LimitedSpace {
  readonly name: string;
  limits(): SpaceLimits | undefined;
}

/** A client that has used up the watches tries again after this time. A watch lasts minutes, so an earlier try would seldom help. */
const watchRetrySeconds = 5;

const ask = 'ask those who run this node for more';

/** Refuses writes of users that would exceed the limits, in the words of a ResourceQuota. Writes that make the space smaller always pass. */
export function spaceQuota(space: LimitedSpace, usage: { readonly present: Usage }): WriteQuota {
  return (key, change, user) => {
    const limits = user && space.limits();
    if (!limits) return;
    for (const what of ['objects', 'bytes'] as const) {
      const limit = limits[what];
      if (limit === undefined || change[what] <= 0) continue;
      const used = usage.present[what];
      if (used + change[what] <= limit) continue;
      const counts = `requested: ${what}=${change[what]}, used: ${what}=${used}, limited: ${what}=${limit}`;
      const why = `exceeded quota: Space ${space.name} (spec.limits.${what}), ${counts}: delete objects of the space, or ${ask}`;
      throw forbidden(key, why);
    }
  };
}

/** Bounds the requests to one space, of all its users together. */
export class RequestGate {
  readonly #space: LimitedSpace;
  readonly #clock: Clock;
  #bucket: { readonly perSecond: number; readonly tokens: TokenBucket } | undefined;
  #watches = 0;

  constructor(space: LimitedSpace, clock: Clock) {
    this.#space = space;
    this.#clock = clock;
  }

  /** Throws TooManyRequests. Returns what the caller has to call when the request has ended. */
  admit(isWatch: boolean): () => void {
    const { requestsPerSecond, watches } = this.#space.limits() ?? {};
    this.#take(requestsPerSecond);
    if (!isWatch) return nothing;
    if (watches !== undefined && this.#watches >= watches) {
      const why = `the Space ${this.#space.name} allows ${watches} watches at a time (spec.limits.watches)`;
      throw tooMany(`${why}: end other watches, or ${ask}`, watchRetrySeconds);
    }
    this.#watches += 1;
    let isOpen = true;
    return () => {
      if (isOpen) this.#watches -= 1;
      isOpen = false;
    };
  }

  #take(perSecond: number | undefined): void {
    if (perSecond === undefined) {
      this.#bucket = undefined;
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    if (this.#bucket?.perSecond !== perSecond)
      this.#bucket = { perSecond, tokens: new TokenBucket(2 * perSecond, 1_000 / perSecond, nowMs) };
    const waitMs = this.#bucket.tokens.take(nowMs);
    if (waitMs === 0) return;
    const why = `the Space ${this.#space.name} allows ${perSecond} requests per second (spec.limits.requestsPerSecond)`;
    throw tooMany(`${why}: send fewer requests, or ${ask}`, Math.ceil(waitMs / 1_000));
  }
}

function nothing(): void {}

function tooMany(why: string, retryAfterSeconds: number): BanyanError {
  return new BanyanError('TooManyRequests', `too many requests: ${why}`, { retryAfterSeconds });
}
