/**
 * The views that show nothing, the one longest not asked for first. Whoever may ask can make names up, and each of them costs a view: so
 * their number has a bound, and the oldest that nobody watches makes room for the next. A view that shows something has a reason to be there, until it is idle
 * (open-view.ts).
 */
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';

/** A view takes some 7 KB: 7 MB for names that stand for nothing. */
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
  /** With what closes it: who asks for it next has a new one. */
  readonly #views = new Map<MaybeEmpty, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Somebody asks for this view. Throws TooManyRequests when it is one more that shows nothing and all others are in use. */
  asked(view: MaybeEmpty, close: () => void): void {
    const isNew = !this.#views.delete(view);
    view.asked(this.#clock.monotonicMs());
    if (!view.isEmpty()) return;
    if (isNew) this.#makeRoom();
    this.#views.set(view, close);
  }

  #makeRoom(): void {
    const now = this.#clock.monotonicMs();
    for (const [view, close] of [...this.#views]) {
      if (this.#views.size < viewsMax || now - view.askedAtMs < idleMs) break;
      this.#views.delete(view);
      if (!view.isEmpty()) continue;
      if (view.isWatched()) {
        view.asked(now);
        this.#views.set(view, close);
      } else close();
    }
    if (this.#views.size < viewsMax) return;
    const remedy = `ask for those that are there, or again in ${idleMs / 1000} s`;
    throw new BanyanError('TooManyRequests', `${viewsMax} spaces that show nothing are in use here: ${remedy}`, {
      retryAfterSeconds: idleMs / 1000,
    });
  }
}
