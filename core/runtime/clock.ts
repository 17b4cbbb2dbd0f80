/** The clock. Callers always pass it in: the system's clock in the product, a virtual clock in tests and in the simulation. */

export interface Timer {
  /** Stops the timer. Does nothing if the timer has fired or was stopped before. */
  stop(): void;
}

export interface Clock {
  /** Wall time in whole ms since 1970. Use it for people and for expiry dates, never to put events in order or to measure. */
  wallMs(): number;
  /** A number of ms that only grows, from an arbitrary start. Use it to measure and for deadlines. */
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
  /** A binary heap with the earliest timer first. A stopped timer stays in the heap until it reaches the top. */
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

  /** Moves time forward by `ms`, and fires each timer that becomes due meanwhile. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    while (this.fireNext(untilMs)) {
      // Fires all timers that are due up to this time, including those that other timers start meanwhile.
    }
    this.#nowMs = untilMs;
  }

  /** If the next timer is due by `untilMs`, moves time to that timer, fires only this timer, and returns true. */
  fireNext(untilMs: number): boolean {
    for (let top = this.#heap[0]; top && top.atMs <= untilMs; top = this.#heap[0]) {
      this.#pop();
      if (top.stopped) continue;
      this.#nowMs = Math.max(this.#nowMs, top.atMs);
      // A fired timer counts as stopped, so a call of `stop` does nothing any more.
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
