/**
 * Objects that wait for another object, or for their kind. The work queue tries these objects now and then in any case. This class enqueues them at once when
 * the other object or the kind is on the cluster.
 */
import { isDefinitionKey } from './order.ts';

export class DependencyWaits {
  readonly #enqueue: (key: string, fresh: boolean) => void;
  /** Keyed by the key of the object that has to be applied first. The value has the keys of the objects that wait for it. */
  readonly #blocked = new Map<string, Set<string>>();
  /** Keys whose kind the cluster does not serve. */
  readonly #unserved = new Set<string>();

  /** `enqueue` is called with a key whose object needs another try. `fresh`: the reason for its earlier failures is gone. */
  constructor(enqueue: (key: string, fresh: boolean) => void) {
    this.#enqueue = enqueue;
  }

  /** Notes that the object waits for `blocker`. */
  await(blocker: string, key: string): void {
    const waiting = this.#blocked.get(blocker) ?? new Set();
    this.#blocked.set(blocker, waiting.add(key));
  }

  /** Notes that the object waits for its kind, or may have to. */
  awaitKind(key: string): void {
    this.#unserved.add(key);
  }

  /** Notes that the cluster serves the kind of the object. */
  needsNoKind(key: string): void {
    this.#unserved.delete(key);
  }

  /** Forgets an object that nobody wants any more. The object that it waits for may never arrive. */
  forget(key: string): void {
    this.#unserved.delete(key);
    for (const [blocker, waiting] of this.#blocked)
      if (waiting.delete(key) && waiting.size === 0) this.#blocked.delete(blocker);
  }

  /** Called when the object is on the cluster. */
  arrived(key: string): void {
    for (const waiting of this.#blocked.get(key) ?? []) this.#enqueue(waiting, true);
    this.#blocked.delete(key);
    if (isDefinitionKey(key)) this.kindsChanged();
  }

  /** Called when the kinds that the cluster serves have changed. */
  kindsChanged(): void {
    for (const key of this.#unserved) this.#enqueue(key, false);
  }
}
