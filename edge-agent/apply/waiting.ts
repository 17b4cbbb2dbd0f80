/**
 * Objects that wait for others, or for their kind. The work queue tries these objects now and then in any case. This class enqueues them at once when
 * everything that they wait for is there.
 *
 * An object waits for blockers. A blocker is the key of an object that has to be applied first, or another text for another event (`availabilityOf`,
 * `targetOf`). Bound: each key has the blockers of its last wait only, so there are at most as many entries as pairs in the desired state.
 */
import { BanyanError } from '../../core/runtime/errors.ts';
import { isDefinitionKey } from './order.ts';

/** The blocker for: the object is available. */
export function availabilityOf(key: string): string {
  return `available ${key}`;
}

/** The blocker for: all objects of the placement have arrived at the agent. */
export function targetOf(placement: string): string {
  return `target ${placement}`;
}

export class DependencyWaits {
  readonly #enqueue: (key: string, fresh: boolean) => void;
  /** Keyed by blocker. The value has the keys of the objects that wait for it. */
  readonly #waiters = new Map<string, Set<string>>();
  /** Keyed by the key of the object that waits. */
  readonly #blockers = new Map<string, Set<string>>();
  /** Keys whose kind the cluster does not serve. */
  readonly #unserved = new Set<string>();

  /** `enqueue` is called with a key whose object needs another try. `fresh`: the reason for its earlier failures is gone. */
  constructor(enqueue: (key: string, fresh: boolean) => void) {
    this.#enqueue = enqueue;
  }

  /** Notes that the object waits until all blockers are there. An earlier wait of the object ends. */
  await(blockers: Iterable<string>, key: string): void {
    this.#end(key);
    const all = new Set(blockers);
    if (all.size === 0) return;
    this.#blockers.set(key, all);
    for (const blocker of all) {
      const waiting = this.#waiters.get(blocker) ?? new Set();
      this.#waiters.set(blocker, waiting.add(key));
    }
  }

  /** Notes that the object waits for its kind, or may have to. */
  awaitKind(key: string): void {
    this.#unserved.add(key);
  }

  /** Notes that the cluster serves the kind of the object. */
  needsNoKind(key: string): void {
    this.#unserved.delete(key);
  }

  /** Forgets an object that nobody wants any more. No object has to wait for it any more. */
  forget(key: string): void {
    this.#unserved.delete(key);
    this.#end(key);
    this.#release(key);
  }

  /** Called when the blocker is there. */
  arrived(blocker: string): void {
    this.#release(blocker);
    if (isDefinitionKey(blocker)) this.kindsChanged();
  }

  /** Called when the kinds that the cluster serves have changed. */
  kindsChanged(): void {
    for (const key of this.#unserved) this.#enqueue(key, false);
  }

  #release(blocker: string): void {
    const waiting = this.#waiters.get(blocker);
    if (!waiting) return;
    this.#waiters.delete(blocker);
    for (const key of waiting) {
      const blockers = this.#blockers.get(key)!;
      blockers.delete(blocker);
      if (blockers.size > 0) continue;
      this.#blockers.delete(key);
      this.#enqueue(key, true);
    }
  }

  #end(key: string): void {
    for (const blocker of this.#blockers.get(key) ?? []) {
      const waiting = this.#waiters.get(blocker)!;
      waiting.delete(key);
      if (waiting.size === 0) this.#waiters.delete(blocker);
    }
    this.#blockers.delete(key);
  }
}

/** Whether the namespace does not exist, or is being deleted. In the second case, the API server answers Forbidden, with a cause. */
export function isMissingNamespace(error: unknown): boolean {
  if (!(error instanceof BanyanError)) return false;
  const { causes = [] } = error.details;
  return error.code === 'NotFound' || causes.some(({ reason }) => reason === 'NamespaceTerminating');
}
