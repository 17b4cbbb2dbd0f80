/**
 * A small pool for reconciliations: each reads whole tables, so that after the loss of a store a thousand at once would hold up every live session.
 * Who waits is in no hurry: it has what it had. First come, first served.
 */
import type { Clock, Timer } from '../runtime/clock.ts';

/** Two cores are kept busy by fewer; the rest wait for their turn. */
export const reconcilesMax = 8;
/** A turn that takes longer is a slow line's, which costs little and goes on without its slot. */
export const slotMs = 10_000;

export class ReconcileSlots {
  readonly #clock: Clock;
  readonly #running = new Map<object, Timer>();
  /** By who asked; bounded by the sessions there are. */
  readonly #waiting = new Map<object, () => void>();
  /** Who has had its turn and is not done. */
  readonly #slow = new WeakSet<object>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `begin` when there is a slot, which may be at once; again and again for who has one. */
  take(owner: object, begin: () => void): void {
    if (this.#running.has(owner) || this.#slow.has(owner)) return begin();
    if (this.#running.size < reconcilesMax) this.#grant(owner, begin);
    else this.#waiting.set(owner, begin);
  }

  /** Done or over; also harmless for who never had one. */
  release(owner: object): void {
    this.#waiting.delete(owner);
    this.#slow.delete(owner);
    this.#free(owner);
  }

  #grant(owner: object, begin: () => void): void {
    const timer = this.#clock.after(slotMs, () => {
      this.#slow.add(owner);
      this.#free(owner);
    });
    this.#running.set(owner, timer);
    begin();
  }

  #free(owner: object): void {
    const timer = this.#running.get(owner);
    if (!timer) return;
    timer.stop();
    this.#running.delete(owner);
    const [next] = this.#waiting;
    if (!next) return;
    const [nextOwner, begin] = next;
    this.#waiting.delete(nextOwner);
    this.#grant(nextOwner, begin);
  }
}
