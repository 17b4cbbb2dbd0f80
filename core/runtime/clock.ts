/** Time, always passed in: the product uses the system's, tests and the simulation a virtual one. */

export interface Timer {
  /** Stops the timer; harmless when it has fired or was stopped before. */
  stop(): void;
}

export interface Clock {
  /** Wall time in ms since 1970: for people and for expiry dates, never for order or for measuring. */
  wallMs(): number;
  /** Ms that only grow, from an arbitrary start: for measuring and for deadlines. */
  monotonicMs(): number;
  /** Calls `fire` once, `delayMs` from now. The timer does not keep a process alive. */
  after(delayMs: number, fire: () => void): Timer;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, fire) {
    const timer = setTimeout(fire, delayMs).unref();
    return { stop: () => clearTimeout(timer) };
  },
};

/** A clock that moves only when told to. Timers fire in order of their time, then of their making. */
export class VirtualClock implements Clock {
  #nowMs: number;
  #sequence = 0;
  #timers: { atMs: number; sequence: number; fire: () => void }[] = [];

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, fire: () => void): Timer {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), sequence: this.#sequence++, fire };
    this.#timers.push(timer);
    return {
      stop: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Moves time forward by `ms` and fires what falls due on the way. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (let next = this.#earliest(untilMs); next; next = this.#earliest(untilMs)) {
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      const due = next;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      due.fire();
    }
    this.#nowMs = untilMs;
  }

  #earliest(untilMs: number) {
    return this.#timers
      .filter((timer) => timer.atMs <= untilMs)
      .sort((a, b) => a.atMs - b.atMs || a.sequence - b.sequence)[0];
  }
}
