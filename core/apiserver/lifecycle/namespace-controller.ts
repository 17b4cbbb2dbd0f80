/**
 * Deletes all objects in a Namespace that is being deleted, whatever their kind. When no object is left, the controller removes its finalizer from the
 * Namespace. Objects that have finalizers of their own remain for a while: the controller waits for them, and lists them in the conditions of the
 * Namespace.
 */
import { timestamp, withCondition } from '../../object/conditions.ts';
import { formatGroupResource, type ObjectKey } from '../../object/key.ts';
import type { Condition } from '../../object/meta.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Space } from '../space.ts';
import { scanPages } from '../storage/scan-pages.ts';
import { isNamespace, type Namespace, namespaceFinalizer } from '../verbs/kind-strategy.ts';
import { namespaceResource } from '../verbs/namespace-guard.ts';
import { KeyQueue, turnMsMax } from './key-queue.ts';

export interface NamespaceControllerOptions {
  readonly space: Space;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls `turn` shortly after the present commit (key-queue.ts). */
  readonly schedule: (turn: () => void) => void;
}

const fieldManager = 'namespace-controller';
/** Maximal number of objects at which one turn looks. Each deletion is one transaction. */
const objectsPerTurnMax = 256;

/** One pass over a Namespace. It takes as many turns as it needs. */
interface Sweep {
  readonly keys: Generator<ObjectKey>;
  /** True: objects were deleted since the begin of this pass, so that its counts are too large. */
  isOutdated: boolean;
  /** Number of remaining objects, keyed by resource. */
  readonly resources: Map<string, number>;
  /** Number of remaining objects, keyed by finalizer. */
  readonly finalizers: Map<string, number>;
  readonly errors: BanyanError[];
}

export class NamespaceController {
  readonly #space: Space;
  readonly #clock: Clock;
  readonly #queue: KeyQueue;
  readonly #terminating = new Set<string>();
  /** By Namespace: the passes that have not come to their ends. */
  readonly #sweeps = new Map<string, Sweep>();
  readonly #unsubscribe: () => void;

  /** Reads the Namespaces once. After that, follows the events of the space. */
  constructor({ space, clock, logger, schedule }: NamespaceControllerOptions) {
    this.#space = space;
    this.#clock = clock;
    this.#queue = new KeyQueue({ work: (name) => this.#empty(name), schedule, clock, logger });
    this.#unsubscribe = space.storage.subscribe((events) => {
      for (const { type, object } of events) {
        const { namespace, name } = object.key;
        if (isNamespace(object.key)) this.#queue.add(name);
        else if (type === 'DELETED' && this.#terminating.has(namespace)) this.#isLess(namespace);
      }
    });
    for (const { key } of space.storage.scan(namespaceResource)) this.#queue.add(key.name);
  }

  close(): void {
    this.#unsubscribe();
    this.#queue.close();
  }

  #isLess(namespace: string): void {
    const sweep = this.#sweeps.get(namespace);
    if (sweep) sweep.isOutdated = true;
    this.#queue.add(namespace);
  }

  #empty(name: string): void {
    const namespace = this.#space.get({ ...namespaceResource, namespace: '', name }) as Namespace | undefined;
    if (!namespace?.metadata.deletionTimestamp) {
      this.#terminating.delete(name);
      this.#sweeps.delete(name);
      return;
    }
    this.#terminating.add(name);
    const sweep = this.#sweeps.get(name) ?? {
      keys: this.#keysIn(name),
      isOutdated: false,
      resources: new Map(),
      finalizers: new Map(),
      errors: [],
    };
    if (this.#goesOn(sweep)) {
      this.#sweeps.set(name, sweep);
      return this.#queue.add(name);
    }
    this.#sweeps.delete(name);
    if (sweep.resources.size === 0) this.#finalize(namespace);
    else if (sweep.isOutdated) this.#queue.add(name);
    else this.#report(namespace, sweep);
    if (sweep.errors[0]) throw sweep.errors[0];
  }

  *#keysIn(namespace: string): Generator<ObjectKey> {
    const { storage, kinds } = this.#space;
    for (const resource of storage.resources().filter((one) => kinds.byResource(one)?.namespaced === true))
      for (const { key } of scanPages(storage, resource, namespace)) yield key;
  }

  /** Does the work of one turn. Returns true if objects are left. */
  #goesOn({ keys, ...counts }: Sweep): boolean {
    const untilMs = this.#clock.monotonicMs() + turnMsMax;
    for (let objects = 0; objects < objectsPerTurnMax && this.#clock.monotonicMs() < untilMs; objects++) {
      const next = keys.next();
      if (next.done) return false;
      this.#deleteOne(next.value, counts);
    }
    return true;
  }

  /** Deletes the object. If the object still exists after that, for example because of a finalizer, counts the object. */
  #deleteOne(
    key: ObjectKey,
    { resources, finalizers, errors }: Pick<Sweep, 'resources' | 'finalizers' | 'errors'>,
  ): void {
    let object = this.#space.get(key);
    if (object && !object.metadata.deletionTimestamp) {
      try {
        this.#space.delete(key, { propagationPolicy: 'Background', fieldManager });
      } catch (error) {
        // Admission may refuse the deletion of one object. The pass still deletes the other objects, then fails, and the queue repeats it.
        if (!(error instanceof BanyanError)) throw error;
        errors.push(error);
      }
      object = this.#space.get(key);
    }
    if (!object) return;
    count(resources, formatGroupResource(key));
    for (const finalizer of object.metadata.finalizers ?? []) count(finalizers, finalizer);
  }

  #report(namespace: Namespace, { resources, finalizers }: Sweep): void {
    const now = timestamp(this.#clock.wallMs());
    const resourceTexts = listed(resources, (name, count) => `${name}. has ${count} resource instances`);
    const finalizerTexts = listed(finalizers, (name, count) => `${name} in ${count} resource instances`);
    let conditions = (namespace.status?.conditions ?? []) as Condition[];
    conditions = withCondition(
      conditions,
      {
        type: 'NamespaceContentRemaining',
        status: 'True',
        reason: 'SomeResourcesRemain',
        message: `Some resources are remaining: ${resourceTexts}`,
      },
      now,
    );
    conditions = withCondition(
      conditions,
      {
        type: 'NamespaceFinalizersRemaining',
        status: finalizers.size > 0 ? 'True' : 'False',
        reason: finalizers.size > 0 ? 'SomeFinalizersRemain' : 'ContentHasNoFinalizers',
        message:
          finalizers.size > 0
            ? `Some content in the namespace has finalizers remaining: ${finalizerTexts}`
            : 'All content-preserving finalizers finished',
      },
      now,
    );
    const status = { ...namespace.status, conditions };
    this.#space.update({ ...namespace, status }, { subresource: 'status', fieldManager });
  }

  #finalize(namespace: Namespace): void {
    const finalizers = (namespace.spec?.finalizers ?? []).filter((name) => name !== namespaceFinalizer);
    const spec = { ...namespace.spec, finalizers };
    this.#space.update({ ...namespace, spec }, { subresource: 'finalize', fieldManager });
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function listed(counts: ReadonlyMap<string, number>, show: (name: string, count: number) => string): string {
  return [...counts].map(([name, value]) => show(name, value)).join(', ');
}
