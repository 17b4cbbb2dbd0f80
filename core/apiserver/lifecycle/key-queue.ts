/**
 * The work of a level-based controller: a set of keys. A key that was added several times is processed once. The work is divided into turns of the event
 * loop, so that no turn delays other work of the node.
 */
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';

export interface KeyQueueOptions {
  /** Reads the present state of the object with this key, and does the missing work. */
  readonly work: (key: string) => void;
  /** Calls `turn` shortly after the present commit. The product passes setImmediate. */
  readonly schedule: (turn: () => void) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Maximal number of keys per turn. Such a turn takes milliseconds, unless the objects are long. */
const keysPerTurnMax = 256;
/** After this time, a turn begins no further work. A request then waits for a turn of this length, and one piece of work. */
export const turnMsMax = 10;
const retryDelayMinMs = 250;
/** After many failures, a key usually waits for a person. One try per minute costs nothing, and succeeds soon after the repair. */
const retryDelayMaxMs = 60_000;

export class KeyQueue {
  readonly #options: KeyQueueOptions;
  readonly #keys = new Set<string>();
  /** Failed keys: the number of failures in a row, and the timer of the next try. */
  readonly #failures = new Map<string, { count: number; timer: Timer }>();
  #isScheduled = false;
  #isClosed = false;

  constructor(options: KeyQueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    if (this.#isClosed) return;
    this.#keys.add(key);
    this.#scheduleTurn();
  }

  close(): void {
    this.#isClosed = true;
    this.#keys.clear();
    for (const { timer } of this.#failures.values()) timer.stop();
    this.#failures.clear();
  }

  #scheduleTurn(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.schedule(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    const untilMs = this.#options.clock.monotonicMs() + turnMsMax;
    // Keys that are added during this turn wait for the next turn, even if a key adds itself.
    for (const key of this.#first(keysPerTurnMax)) {
      this.#keys.delete(key);
      this.#workOn(key);
      if (this.#options.clock.monotonicMs() >= untilMs) break;
    }
    if (this.#keys.size > 0) this.#scheduleTurn();
  }

  #first(count: number): string[] {
    const keys: string[] = [];
    for (const key of this.#keys) {
      if (keys.length === count) break;
      keys.push(key);
    }
    return keys;
  }

  #workOn(key: string): void {
    try {
      this.#options.work(key);
      this.#failures.get(key)?.timer.stop();
      this.#failures.delete(key);
    } catch (error) {
      // Every other error is a broken invariant, and ends the process.
      if (!(error instanceof BanyanError)) throw error;
      this.#scheduleRetry(key, error);
    }
  }

  #scheduleRetry(key: string, error: BanyanError): void {
    const before = this.#failures.get(key);
    before?.timer.stop();
    const count = (before?.count ?? 0) + 1;
    const delayMs = Math.min(retryDelayMinMs * 2 ** (count - 1), retryDelayMaxMs);
    const timer = this.#options.clock.after(delayMs, () => this.add(key));
    this.#failures.set(key, { count, timer });
    this.#options.logger.warn(
      { key, count, delayMs, error: describeError(error) },
      'the work on this key failed; it is tried again',
    );
  }
}
