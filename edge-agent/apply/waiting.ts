/**
 * Objects that wait for something else: for another object that is to come first, or for their kind. They are tried again now and then in any case; this brings them
 * back as soon as that is there.
 */
import { isDefinitionKey } from './order.ts';

export class DependencyWaits {
  readonly #again: (key: string, fresh: boolean) => void;
  /** Key of what has to come first -> keys that wait for it. */
  readonly #blocked = new Map<string, Set<string>>();
  /** Keys whose kind the cluster does not serve. */
  readonly #unserved = new Set<string>();

  /** `again`: the object is to be worked on; `fresh`: what it has failed by is over. */
  constructor(again: (key: string, fresh: boolean) => void) {
    this.#again = again;
  }

  /** The object waits for `blocker`. */
  await(blocker: string, key: string): void {
    const waiting = this.#blocked.get(blocker) ?? new Set();
    this.#blocked.set(blocker, waiting.add(key));
  }

  /** The object waits for its kind, or it is not known yet whether it has to. */
  awaitKind(key: string): void {
    this.#unserved.add(key);
  }

  /** The kind of the object is served. */
  needsNoKind(key: string): void {
    this.#unserved.delete(key);
  }

  /** The object is wanted no more: what it waits for may never come. */
  forget(key: string): void {
    this.#unserved.delete(key);
    for (const [blocker, waiting] of this.#blocked)
      if (waiting.delete(key) && waiting.size === 0) this.#blocked.delete(blocker);
  }

  /** The object is there. */
  came(key: string): void {
    for (const waiting of this.#blocked.get(key) ?? []) this.#again(waiting, true);
    this.#blocked.delete(key);
    if (isDefinitionKey(key)) this.kindsChanged();
  }

  /** The cluster serves other kinds than before. */
  kindsChanged(): void {
    for (const key of this.#unserved) this.#again(key, false);
  }
}
