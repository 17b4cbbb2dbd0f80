/** A task that runs once after any number of requests. A request that arrives while the task runs makes it run once more. */
export class CoalescedTask {
  readonly #defer: (run: () => void) => void;
  readonly #run: () => void;
  #asked = false;
  #stopped = false;

  /** `defer` calls its argument after the work that is already waiting. The product passes setImmediate. */
  constructor(defer: (run: () => void) => void, run: () => void) {
    this.#defer = defer;
    this.#run = run;
  }

  ask(): void {
    if (this.#asked || this.#stopped) return;
    this.#asked = true;
    this.#defer(() => {
      this.#asked = false;
      if (!this.#stopped) this.#run();
    });
  }

  /** Drops all requests for which the task has not run yet. */
  stop(): void {
    this.#stopped = true;
  }
}
