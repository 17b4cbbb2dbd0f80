/**
 * `spec.evictAfter` of SyncTargets: from this time on, the agent is no destination of the SyncTarget. The times are in the inventory, and a start reads them
 * again. This class keeps only the times that are still to come, and one timer for the next of them.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';

/**
 * People may set the wall time, and it goes on while the machine sleeps; a timer notices neither. So the times are checked at least this often, and an
 * eviction is late by no more than this. The bound also keeps delays below the 24 days that a JavaScript timer can have.
 */
const recheckMs = 30_000;

export class Evictions {
  readonly #clock: Clock;
  readonly #due: (names: readonly string[]) => void;
  readonly #times = new Map<string, number>();
  #timer: Timer | undefined;
  #stopped = false;

  /** `due` is called once for each agent whose time has come. */
  constructor(clock: Clock, due: (names: readonly string[]) => void) {
    this.#clock = clock;
    this.#due = due;
  }

  /** Says for each of an agent's SyncTargets whether its time has come. The next time of the agent replaces the former one. */
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
