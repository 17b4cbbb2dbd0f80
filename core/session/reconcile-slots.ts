/**
 * A small pool of slots for reconciliations. Each reconciliation reads whole tables, so after the loss of a store, a thousand at once would delay every live
 * session. A session that waits for a slot is in no hurry, because its node keeps what it has. First come, first served.
 */
import type { Clock, Timer } from '../runtime/clock.ts';

/** Fewer than this keep two cores busy. The others wait for a slot. */
export const reconcilesMax = 8;
/** A reconciliation that takes longer runs over a slow line. It costs little, and continues without its slot. */
export const slotMs = 10_000;

export class ReconcileSlots {
  readonly #clock: Clock;
  readonly #running = new Map<object, Timer>();
  /** By owner. Bound: the number of sessions. */
  readonly #waiting = new Map<object, () => void>();
  /** Owners that have lost their slot by time and are not done. */
  readonly #slow = new WeakSet<object>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `begin` when there is a slot, which may be at once. For an owner that has a slot, or has lost its slot by time, each call begins at once. */
  take(owner: object, begin: () => void): void {
    if (this.#running.has(owner) || this.#slow.has(owner)) return begin();
    if (this.#running.size < reconcilesMax) this.#grant(owner, begin);
    else this.#waiting.set(owner, begin);
  }

  /** The owner is done, or its session is over. Harmless for an owner without a slot. */
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
