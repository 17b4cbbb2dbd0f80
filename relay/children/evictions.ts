/**
 * `spec.evictAfter` of SyncTargets: from then on an agent is no destination. The times stand in the inventory, so that a start reads them
 * anew; here is only which of them are to come, and one timer for the next.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';

/**
 * Wall time may be set, or go on while the machine sleeps, and a timer counts neither: it looks again at least this often, and an eviction is
 * late by no more. It also keeps delays below the 24 days that a timer of JavaScript can have.
 */
const lookAgainMs = 30_000;

export class Evictions {
  readonly #clock: Clock;
  readonly #due: (names: readonly string[]) => void;
  readonly #times = new Map<string, number>();
  #timer: Timer | undefined;
  #stopped = false;

  /** `due` is told once of each agent whose time has come. */
  constructor(clock: Clock, due: (names: readonly string[]) => void) {
    this.#clock = clock;
    this.#due = due;
  }

  /** Of each of an agent's SyncTargets whether its time has come; the next one to come replaces what was known of the agent. */
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
    const delayMs = Math.min(lookAgainMs, Math.max(0, nextMs - this.#clock.wallMs()));
    this.#timer = this.#clock.after(delayMs, () => this.#look());
  }

  #look(): void {
    const nowMs = this.#clock.wallMs();
    const due = [...this.#times].filter(([, atMs]) => atMs <= nowMs).map(([name]) => name);
    for (const name of due) this.#times.delete(name);
    this.#arm();
    if (due.length > 0) this.#due(due);
  }
}
