/** Tells once of a commit, however often that was asked for in its transaction; never of one that did not happen. */
import type { Transaction } from './store.ts';

export class OncePerCommit {
  readonly #tell: () => void;
  /** Whose commit is told of. */
  #in: Transaction | undefined;

  constructor(tell: () => void) {
    this.#tell = tell;
  }

  ask(t: Transaction): void {
    if (this.#in === t) return;
    this.#in = t;
    t.afterCommit(() => {
      this.#in = undefined;
      this.#tell();
    });
  }
}
