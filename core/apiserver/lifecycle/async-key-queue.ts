/**
 * The work of a level-based controller that has to wait, for example for a signature: a set of keys, one after the other. A key that was added several times is
 * processed once. See key-queue.ts for work without waits.
 */
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';

export interface AsyncKeyQueueOptions {
  /** Reads the present state of the object with this key, and does the missing work. */
  work(key: string): Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Time until the next try. The work fails because the disk is full or a certificate has expired: a person has to act. */
const tryAgainMs = 60_000;

export class AsyncKeyQueue {
  readonly #options: AsyncKeyQueueOptions;
  readonly #keys = new Set<string>();
  /** The timers of failed keys. */
  readonly #timers = new Set<Timer>();
  #isWorking = false;
  #isClosed = false;

  constructor(options: AsyncKeyQueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    if (this.#isClosed) return;
    this.#keys.add(key);
    if (!this.#isWorking) void this.#work();
  }

  close(): void {
    this.#isClosed = true;
    this.#keys.clear();
    for (const timer of this.#timers) timer.stop();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    // A key that is added during its work comes again: the loop sees keys that are added.
    for (const key of this.#keys) {
      this.#keys.delete(key);
      await this.#workOn(key);
    }
    this.#isWorking = false;
  }

  async #workOn(key: string): Promise<void> {
    try {
      await this.#options.work(key);
    } catch (error) {
      // Every other error is a broken invariant, and ends the process.
      if (!(error instanceof BanyanError)) throw error;
      if (this.#isClosed) return;
      const { clock, log } = this.#options;
      log.warn({ key, reason: describeError(error) }, 'the work on this key failed; it is tried again in a minute');
      const timer = clock.after(tryAgainMs, () => {
        this.#timers.delete(timer);
        this.add(key);
      });
      this.#timers.add(timer);
    }
  }
}
