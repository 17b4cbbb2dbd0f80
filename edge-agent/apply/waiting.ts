/**
 * Objects that wait for another object, or for their kind. The retries of the work queue try them now and then in any case. This class brings them back at
 * once when the thing they wait for is there.
 */
import { isDefinitionKey } from './order.ts';

export class DependencyWaits {
  readonly #enqueue: (key: string, fresh: boolean) => void;
  /** The key of the object that has to come first -> the keys that wait for it. */
  readonly #blocked = new Map<string, Set<string>>();
  /** Keys whose kind the cluster does not serve. */
  readonly #unserved = new Set<string>();

  /** `again`: work on the object once more. `fresh`: the reason for its earlier failures is gone. */
  constructor(enqueue: (key: string, fresh: boolean) => void) {
    this.#enqueue = enqueue;
  }

  /** The object waits for `blocker`. */
  await(blocker: string, key: string): void {
    const waiting = this.#blocked.get(blocker) ?? new Set();
    this.#blocked.set(blocker, waiting.add(key));
  }

  /** The object waits for its kind, or may have to. */
  awaitKind(key: string): void {
    this.#unserved.add(key);
  }

  /** The cluster serves the kind of the object. */
  needsNoKind(key: string): void {
    this.#unserved.delete(key);
  }

  /** Nobody wants the object any more, and what it waits for may never come. */
  forget(key: string): void {
    this.#unserved.delete(key);
    for (const [blocker, waiting] of this.#blocked)
      if (waiting.delete(key) && waiting.size === 0) this.#blocked.delete(blocker);
  }

  /** The object is on the cluster. */
  arrived(key: string): void {
    for (const waiting of this.#blocked.get(key) ?? []) this.#enqueue(waiting, true);
    this.#blocked.delete(key);
    if (isDefinitionKey(key)) this.kindsChanged();
  }

  /** The cluster serves other kinds than before. */
  kindsChanged(): void {
    for (const key of this.#unserved) this.#enqueue(key, false);
  }
}
