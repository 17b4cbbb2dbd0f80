/**
 * What a peer has acknowledged, on its way into the store. Nothing waits for it but tombstones, which stay that much longer, and a crash that takes it
 * costs as little: so it is written a moment later, once for what came meanwhile. The timers of many sessions fall due together, and what they write is
 * one transaction of the store, where each by itself would be one for every message that comes.
 */
import type { Clock, Timer } from '../runtime/clock.ts';

/** Half of what a person takes for at once, and long against the time between two messages of one session. */
export const acknowledgedWithinMs = 50;

export class Acknowledgements {
  readonly #clock: Clock;
  readonly #write: (cursor: number) => void;
  #cursor: number | undefined;
  #timer: Timer | undefined;

  /** Cursors of one session only grow: the last one says all. */
  constructor(clock: Clock, write: (cursor: number) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  note(cursor: number): void {
    this.#cursor = cursor;
    this.#timer ??= this.#clock.after(acknowledgedWithinMs, () => this.settle());
  }

  /** Writes what is left now. */
  settle(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    const cursor = this.#cursor;
    this.#cursor = undefined;
    if (cursor !== undefined) this.#write(cursor);
  }
}
