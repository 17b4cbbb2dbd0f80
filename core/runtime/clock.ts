/** The clock, always passed in. The product uses the system's clock, tests and the simulation use a virtual one. */

export interface Timer {
  /** Stops the timer. Does nothing if the timer has fired or was stopped before. */
  stop(): void;
}

export interface Clock {
  /** Wall time in whole ms since 1970: for people and for expiry dates, never for order or for measurements. */
  wallMs(): number;
  /** Ms that only grow, from an arbitrary start: for measurements and for deadlines. */
  monotonicMs(): number;
  /** Calls `fire` once, `delayMs` from now. The timer does not keep the process alive. */
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

interface VirtualTimer {
  readonly atMs: number;
  readonly sequence: number;
  readonly fire: () => void;
  stopped: boolean;
}

/**
 * A clock that moves only through `advance` and `fireNext`. Timers fire in the order of their times. Timers with equal times fire in the order of their
 * creation.
 */
export class VirtualClock implements Clock {
  #nowMs: number;
  #sequence = 0;
  /** A binary heap, the earliest timer first. A stopped timer stays in the heap until it comes to the top. */
  readonly #heap: VirtualTimer[] = [];

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
    const atMs = this.#nowMs + Math.max(0, delayMs);
    const timer: VirtualTimer = { atMs, sequence: this.#sequence++, fire, stopped: false };
    this.#push(timer);
    return {
      stop: () => {
        timer.stopped = true;
      },
    };
  }

  /** Moves time forward by `ms`, and fires each timer that becomes due on the way. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    while (this.fireNext(untilMs)) {
      // Fires all timers that are due until then, also those that other timers start on the way.
    }
    this.#nowMs = untilMs;
  }

  /** If the next timer is due until then, moves time to it, fires only this timer, and returns true. */
  fireNext(untilMs: number): boolean {
    for (let top = this.#heap[0]; top && top.atMs <= untilMs; top = this.#heap[0]) {
      this.#pop();
      if (top.stopped) continue;
      this.#nowMs = Math.max(this.#nowMs, top.atMs);
      // From now on, stopping the timer does nothing.
      top.stopped = true;
      top.fire();
      return true;
    }
    return false;
  }

  #push(timer: VirtualTimer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (isBefore(heap[above]!, timer)) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
      if (isBefore(last, heap[below]!)) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(a: VirtualTimer, b: VirtualTimer): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.sequence < b.sequence);
}
