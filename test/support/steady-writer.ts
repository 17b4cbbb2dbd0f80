/** Changes one object of a space again and again, while a test does something else to the tree. */

import type { NodeApiClient } from '../../center/cli/api-client.ts';
import type { KubeObject } from '../../core/object/meta.ts';

const everyMs = 50;

export interface WrittenObject {
  /** `space/center/retail` */
  readonly context: string;
  /** The URL of the object below the context. */
  readonly path: string;
  /** The object at its nth change, from 1 on. */
  readonly nth: (count: number) => KubeObject;
}

export class SteadyWriter {
  /** The number of changes that the node has confirmed. */
  count = 0;
  isPaused = false;
  /** The changes that the node did not confirm. The writer tries each of them again. */
  readonly failed: string[] = [];
  readonly #connect: () => NodeApiClient;
  readonly #written: WrittenObject;
  #ended = false;
  #done: Promise<void> | undefined;

  constructor(connect: () => NodeApiClient, written: WrittenObject) {
    this.#connect = connect;
    this.#written = written;
  }

  start(): void {
    this.#done = this.#run();
  }

  /** Returns after the last change. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    const api = this.#connect();
    const { context, path, nth } = this.#written;
    while (!this.#ended) {
      if (!this.isPaused) {
        try {
          await api.apply(context, path, nth(this.count + 1));
          this.count++;
        } catch (error) {
          this.failed.push(String(error));
        }
      }
      await new Promise((done) => setTimeout(done, everyMs));
    }
    api.close();
  }
}
