/**
 * A small pool of slots for reconciliations. Each reconciliation reads whole tables. After the loss of a store, a thousand reconciliations at the same time
 * would delay all live sessions. A session can wait for its slot without harm, because its node keeps its rows meanwhile. The order is first come, first
 * served.
 */
import type { Clock, Timer } from '../runtime/clock.ts';

/** Number of slots. Fewer would be enough to keep two cores busy. */
export const reconcilesMax = 8;
/** A reconciliation that takes longer than this runs over a slow line, so it costs little at a time. It continues without its slot. */
export const slotMs = 10_000;

export class ReconcileSlots {
  readonly #clock: Clock;
  readonly #running = new Map<object, Timer>();
  /** Keyed by owner. Bound: the number of sessions. */
  readonly #waiting = new Map<object, () => void>();
  /** Owners that lost their slot after `slotMs` and are not done. */
  readonly #slow = new WeakSet<object>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `begin` when a slot is free. Calls it immediately if the owner already has a slot, or lost its slot after `slotMs`. */
  take(owner: object, begin: () => void): void {
    if (this.#running.has(owner) || this.#slow.has(owner)) return begin();
    if (this.#running.size < reconcilesMax) this.#grant(owner, begin);
    else this.#waiting.set(owner, begin);
  }

  /** Call it when the owner is done or its session is over. Does nothing for an owner without a slot. */
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
