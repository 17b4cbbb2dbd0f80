/**
 * `spec.evictAfter` of SyncTargets: the time from which a SyncTarget has no destinations. The times are in the inventory, and each start reads them again. This
 * class keeps only future times, and one timer for the next of them.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';

/**
 * Longest time between two checks. A timer does not notice when somebody sets the clock of the machine, or when the machine sleeps. So an eviction is late by
 * at most this time. The bound also keeps delays below the 24 days that a JavaScript timer can have.
 */
const recheckMs = 30_000;

export class Evictions {
  readonly #clock: Clock;
  readonly #due: (names: readonly string[]) => void;
  readonly #times = new Map<string, number>();
  #timer: Timer | undefined;
  #stopped = false;

  /** `due` is called with the names of the agents for which a time has passed. */
  constructor(clock: Clock, due: (names: readonly string[]) => void) {
    this.#clock = clock;
    this.#due = due;
  }

  /** Returns for each of an agent's SyncTargets whether its time has passed. Keeps the agent's next time, in place of an earlier one. */
  areDue(name: string, timesMs: readonly (number | undefined)[]): boolean[] {
    const nowMs = this.#clock.wallMs();
    const nextMs = Math.min(...timesMs.filter((atMs) => atMs !== undefined && atMs > nowMs).map(Number));
    if (Number.isFinite(nextMs)) {
      this.#times.set(name, nextMs);
      this.#arm();
    } else {
      this.#times.delete(name);
    }
    return timesMs.map((atMs) => atMs !== undefined && atMs <= nowMs);
  }

  forget(name: string): void {
    this.#times.delete(name);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  #arm(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    if (this.#times.size === 0 || this.#stopped) return;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const atMs of this.#times.values()) nextMs = Math.min(nextMs, atMs);
    const delayMs = Math.min(recheckMs, Math.max(0, nextMs - this.#clock.wallMs()));
    this.#timer = this.#clock.after(delayMs, () => this.#check());
  }

  #check(): void {
    const nowMs = this.#clock.wallMs();
    const due = [...this.#times].filter(([, atMs]) => atMs <= nowMs).map(([name]) => name);
    for (const name of due) this.#times.delete(name);
    this.#arm();
    if (due.length > 0) this.#due(due);
  }
}
