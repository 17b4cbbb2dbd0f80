/** Bounds the number of answers that a node makes at once. */
import { BanyanError } from '../../core/runtime/errors.ts';

export class Slots {
  readonly #what: string;
  readonly #max: number;
  #used = 0;

  constructor(what: string, max: number) {
    this.#what = what;
    this.#max = max;
  }

  /** Runs with a slot. Throws TooManyRequests at the first line if all slots are in use. Clients of Kubernetes then ask again. */
  async *use<T>(make: () => AsyncIterable<T>): AsyncGenerator<T> {
    if (this.#used >= this.#max) {
      const message = `${this.#max} ${this.#what} are open at this node: ask again in a second`;
      throw new BanyanError('TooManyRequests', message, { retryAfterSeconds: 1 });
    }
    this.#used += 1;
    try {
      yield* make();
    } finally {
      this.#used -= 1;
    }
  }
}
