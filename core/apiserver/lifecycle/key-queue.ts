/**
 * The work of a level-based controller: a set of keys, each to be looked at once more, however often it was added. Work is
 * done in turns that the node gives, so that no turn holds up everything else.
 */
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';

export interface KeyQueueOptions {
  /** Looks at what the key stands for as it is now, and does what is missing. */
  readonly work: (key: string) => void;
  /** Has `turn` called soon, after the commit that runs now. The shell gives setImmediate. */
  readonly schedule: (turn: () => void) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A turn of this many keys takes milliseconds. */
const keysPerTurnMax = 256;
const retryDelayMinMs = 250;
/** What failed so often waits for a person; looking again each minute costs nothing and finds the repair. */
const retryDelayMaxMs = 60_000;

export class KeyQueue {
  readonly #options: KeyQueueOptions;
  readonly #keys = new Set<string>();
  /** Keys that failed: how often in a row, and the timer that brings them back. */
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
    // What is added meanwhile, also a key that has more work for itself, comes in the next turn.
    for (const key of this.#first(keysPerTurnMax)) {
      this.#keys.delete(key);
      this.#workOn(key);
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
      // Anything else is a broken invariant, and not for this queue to survive.
      if (!(error instanceof BanyanError)) throw error;
      this.#retryLater(key, error);
    }
  }

  #retryLater(key: string, error: BanyanError): void {
    const before = this.#failures.get(key);
    before?.timer.stop();
    const count = (before?.count ?? 0) + 1;
    const delayMs = Math.min(retryDelayMinMs * 2 ** (count - 1), retryDelayMaxMs);
    const timer = this.#options.clock.after(delayMs, () => this.add(key));
    this.#failures.set(key, { count, timer });
    this.#options.logger.warn({ key, count, delayMs, error: describeError(error) }, 'could not be done yet');
  }
}
