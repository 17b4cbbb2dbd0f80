/** Waiting that ends when somebody gives up. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../core/runtime/clock.ts';

/** One waiter sleeps until somebody wakes it. A wake before the sleep is not lost. */
export class Wake {
  #isAwake = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#isAwake = true;
    this.#resolve?.();
  }

  /** Returns at the next wake, or when the signal is aborted. */
  async sleep(signal: AbortSignal): Promise<void> {
    if (!this.#isAwake && !signal.aborted) {
      const end = () => this.wake();
      signal.addEventListener('abort', end, { once: true });
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
      signal.removeEventListener('abort', end);
      this.#resolve = undefined;
    }
    this.#isAwake = false;
  }

  /** Like `sleep`, but returns after this time at the latest. */
  async sleepFor(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    const timer = clock.after(ms, () => this.wake());
    await this.sleep(signal);
    timer.stop();
  }
}

/** A signal for parts of a work. It is aborted with the signal of the whole work, or before by `end`. The number of parts is not limited. */
export class PartSignal {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #whole: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort();

  constructor(whole?: AbortSignal) {
    this.signal = this.#controller.signal;
    setMaxListeners(0, this.signal);
    this.#whole = whole;
    if (whole?.aborted) this.#abort();
    whole?.addEventListener('abort', this.#abort, { once: true });
  }

  end(): void {
    this.#whole?.removeEventListener('abort', this.#abort);
    this.#abort();
  }
}
