/**
 * The views that show nothing, in the order in which they were last asked for. Whoever may ask can invent names, and each name costs a view. So the
 * number of these views is bounded, and the oldest that nobody watches makes room for the next. A view that shows something does not count: it is
 * closed when it is idle (open-view.ts).
 */
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';

/** A view takes some 7 KB, so names behind which there is nothing take at most 7 MB. */
const viewsMax = 1_000;
/** Longer than a request needs from finding its space to watching it. */
const idleMs = 60_000;

export interface MaybeEmpty {
  isEmpty(): boolean;
  isWatched(): boolean;
  /** By the monotonic clock. */
  readonly askedAtMs: number;
  asked(nowMs: number): void;
}

export class EmptyViews {
  readonly #clock: Clock;
  /** Each view with the function that closes it. Who asks for the name next gets a new view. */
  readonly #views = new Map<MaybeEmpty, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Somebody asks for this view. Throws TooManyRequests if the view is new and shows nothing, and all other such views are in use. */
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
