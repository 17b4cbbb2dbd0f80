/** One piece of work that is done soon, once however often it is asked for meanwhile; what is asked for while it runs is done again. */
export class CoalescedTask {
  readonly #defer: (run: () => void) => void;
  readonly #run: () => void;
  #asked = false;
  #stopped = false;

  /** `defer` calls back after what waits already: setImmediate in the product. */
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

  /** What was asked for is not done any more. */
  stop(): void {
    this.#stopped = true;
  }
}
