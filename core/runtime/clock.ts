/** Time, always passed in: the product uses the system's, tests and the simulation a virtual one. */

export interface Timer {
  /** Stops the timer; harmless when it has fired or was stopped before. */
  stop(): void;
}

export interface Clock {
  /** Wall time in whole ms since 1970: for people and for expiry dates, never for order or for measuring. */
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

interface VirtualTimer {
  readonly atMs: number;
  readonly sequence: number;
  readonly fire: () => void;
  stopped: boolean;
}

/** A clock that moves only when told to. Timers fire in order of their time, then of their making. */
export class VirtualClock implements Clock {
  #nowMs: number;
  #sequence = 0;
  /** A binary heap, the earliest first; what was stopped is passed over when it comes up. */
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

  /** Moves time forward by `ms` and fires what falls due on the way. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    while (this.fireNext(untilMs)) {
      // Whatever falls due until then, also what is asked for on the way.
    }
    this.#nowMs = untilMs;
  }

  /** Fires the next timer alone, if it falls due until then, and moves time to it; false when there is none. */
  fireNext(untilMs: number): boolean {
    for (let top = this.#heap[0]; top && top.atMs <= untilMs; top = this.#heap[0]) {
      this.#pop();
      if (top.stopped) continue;
      this.#nowMs = Math.max(this.#nowMs, top.atMs);
      // Stopping it from now on is harmless.
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
