/** A task that runs once after any number of requests. A request that comes while the task runs makes the task run again. */
export class CoalescedTask {
  readonly #defer: (run: () => void) => void;
  readonly #run: () => void;
  #asked = false;
  #stopped = false;

  /** `defer` calls back after the work that already waits: setImmediate in the product. */
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

  /** Drops the requests that the task has not run for. */
  stop(): void {
    this.#stopped = true;
  }
}
