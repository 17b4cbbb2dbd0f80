/**
 * The views that show nothing, in the order in which they were last asked for. A client can invent names, and each name costs a view. So the number of these
 * views is bounded: the oldest one that nobody watches is closed when a new one needs its place. A view that shows something does not count: it is closed when
 * it is idle (open-view.ts).
 */
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';

/** Limit for the views that show nothing. A view takes about 7 KB, so invented names take at most 7 MB. */
const viewsMax = 1_000;
/** A view that was asked for within this time is in use. The time is longer than a request needs from finding its space to watching it. */
const idleMs = 60_000;

export interface MaybeEmpty {
  isEmpty(): boolean;
  isWatched(): boolean;
  /** The time of the last request, by the monotonic clock. */
  readonly askedAtMs: number;
  asked(nowMs: number): void;
}

export class EmptyViews {
  readonly #clock: Clock;
  /** Each view with the function that closes it. The next client that asks for the name of a closed view gets a new view. */
  readonly #views = new Map<MaybeEmpty, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Call it when a client asks for this view. Throws TooManyRequests if the view is new and shows nothing, and all other views that show nothing are in use.
   */
  asked(view: MaybeEmpty, close: () => void): void {
    const isNew = !this.#views.delete(view);
    view.asked(this.#clock.monotonicMs());
    if (!view.isEmpty()) return;
    if (isNew) this.#makeRoom();
    this.#views.set(view, close);
  }

  #makeRoom(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [view, close] of [...this.#views]) {
      if (this.#views.size < viewsMax || nowMs - view.askedAtMs < idleMs) break;
      this.#views.delete(view);
      if (!view.isEmpty()) continue;
      if (view.isWatched()) {
        view.asked(nowMs);
        this.#views.set(view, close);
      } else close();
    }
    if (this.#views.size < viewsMax) return;
    const remedy = `ask for spaces that exist, or ask again in ${idleMs / 1000} s`;
    throw new BanyanError('TooManyRequests', `${viewsMax} spaces that show nothing are in use here: ${remedy}`, {
      retryAfterSeconds: idleMs / 1000,
    });
  }
}
