/** Counts one object up as fast as an API accepts it, and records the acknowledged values. */
import type { KubeObject } from '../../core/object/meta.ts';

export class Counter {
  tried = 0;
  acknowledged = 0;
  #ended = false;
  #done: Promise<void> = Promise.resolve();
  readonly #write: (value: number) => Promise<KubeObject>;

  constructor(write: (value: number) => Promise<KubeObject>) {
    this.#write = write;
  }

  start(): void {
    this.#ended = false;
    this.#done = this.#run();
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      const value = ++this.tried;
      try {
        await this.#write(value);
        this.acknowledged = value;
      } catch {
        return;
      }
    }
  }
}
