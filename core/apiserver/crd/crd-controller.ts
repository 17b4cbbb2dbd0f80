/**
 * Writes the status of CustomResourceDefinitions: their names, and whether they are served. When a definition is deleted, the controller first deletes the
 * objects of its kind (finalizer customresourcecleanup.apiextensions.k8s.io).
 */

import { stableStringify } from '../../object/canonical.ts';
import { timestamp, withCondition } from '../../object/conditions.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { KeyQueue } from '../lifecycle/key-queue.ts';
import type { Space } from '../space.ts';
import { type CustomResourceDefinition, crdResource, type DefinitionNames, isDefinition } from './definition.ts';
import { acceptNames, isEstablished } from './names.ts';

export interface CrdControllerOptions {
  readonly space: Space;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls `turn` shortly after the present commit (lifecycle/key-queue.ts). */
  readonly schedule: (turn: () => void) => void;
}

const cleanup = 'customresourcecleanup.apiextensions.k8s.io';
const fieldManager = 'crd-controller';
/** Maximal number of objects that one turn deletes. Each deletion is one transaction. */
const deletesPerTurnMax = 256;

export class CrdController {
  readonly #space: Space;
  readonly #clock: Clock;
  readonly #queue: KeyQueue;
  readonly #unsubscribe: () => void;

  /** Looks at all definitions once, then follows events. */
  constructor({ space, clock, logger, schedule }: CrdControllerOptions) {
    this.#space = space;
    this.#clock = clock;
    this.#queue = new KeyQueue({ work: (name) => this.#reconcile(name), schedule, clock, logger });
    this.#unsubscribe = space.storage.subscribe((events) => {
      for (const { type, object } of events) {
        const { group, resource, name } = object.key;
        if (group === crdResource.group && resource === crdResource.resource) {
          this.#queue.add(name);
          // The deletion makes names free, and other definitions may want these names.
          if (type === 'DELETED') this.#enqueueAll();
        }
        // If the definition of this object is being deleted, it waits until its last object is deleted.
        else if (type === 'DELETED' && group !== '') this.#queue.add(`${resource}.${group}`);
      }
    });
    this.#enqueueAll();
  }

  close(): void {
    this.#unsubscribe();
    this.#queue.close();
  }

  #enqueueAll(): void {
    for (const { key } of this.#space.storage.scan(crdResource)) this.#queue.add(key.name);
  }

  #reconcile(name: string): void {
    const object = this.#space.get({ ...crdResource, namespace: '', name });
    if (!object || !isDefinition(object)) return;
    if (object.metadata.deletionTimestamp) this.#cleanUp(object);
    else this.#writeStatus(object);
  }

  #writeStatus(definition: CustomResourceDefinition): void {
    const { finalizers = [] } = definition.metadata;
    if (!finalizers.includes(cleanup)) {
      this.#space.update(
        { ...definition, metadata: { ...definition.metadata, finalizers: [...finalizers, cleanup] } },
        { fieldManager },
      );
      return;
    }
    const now = timestamp(this.#clock.wallMs());
    const { accepted, condition } = acceptNames(definition, this.#othersOf(definition));
    const before = definition.status?.conditions ?? [];
    const served = condition.status === 'True';
    const established = served
      ? {
          type: 'Established',
          status: 'True' as const,
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        }
      : { type: 'Established', status: 'False' as const, reason: 'NotAccepted', message: 'not all names are accepted' };
    const storage = definition.spec.versions.find((version) => version.storage)?.name;
    const storedVersions = [...new Set([...(definition.status?.storedVersions ?? []), ...(storage ? [storage] : [])])];
    const status = {
      acceptedNames: accepted,
      conditions: withCondition(withCondition(before, condition, now), established, now),
      storedVersions,
    };
    if (stableStringify(status) === stableStringify(definition.status ?? {})) return;
    this.#space.update({ ...definition, status }, { fieldManager, subresource: 'status' });
  }

  /** Names in the group that other kinds use: kinds without a definition, and definitions whose names were accepted earlier. */
  #othersOf(definition: CustomResourceDefinition): DefinitionNames[] {
    const { group } = definition.spec;
    const definitions = this.#space.storage
      .scan(crdResource)
      .map((stored) => this.#space.parse(stored))
      .filter(isDefinition)
      .filter((other) => other.spec.group === group);
    const fixed = this.#space.kinds.all().filter((kind) => kind.group === group && kind.definitionUid === undefined);
    return [
      ...fixed.map((kind) => ({ ...kind, plural: kind.resource, shortNames: [...kind.shortNames], categories: [] })),
      ...definitions
        .filter((other) => other.metadata.name !== definition.metadata.name)
        .flatMap((other) => (other.status?.acceptedNames ? [other.status.acceptedNames] : [])),
    ];
  }

  #cleanUp(definition: CustomResourceDefinition): void {
    const of = { group: definition.spec.group, resource: definition.spec.names.plural };
    const { name, finalizers = [] } = definition.metadata;
    if (!finalizers.includes(cleanup)) return;
    // If another kind has the name of this definition, the objects under this name belong to the other kind.
    const isOwner =
      isEstablished(definition) && this.#space.kinds.byResource(of)?.definitionUid === definition.metadata.uid;
    let deletesLeft = deletesPerTurnMax;
    for (const { key } of isOwner ? this.#space.storage.scan(of) : []) {
      const object = this.#space.get(key);
      if (!object || object.metadata.deletionTimestamp) continue;
      if (deletesLeft-- === 0) {
        this.#queue.add(name!);
        return;
      }
      this.#space.delete(key, { propagationPolicy: 'Background', fieldManager });
    }
    if (isOwner && this.#space.storage.scan(of).length > 0) return;
    const others = finalizers.filter((finalizer) => finalizer !== cleanup);
    this.#space.update({ ...definition, metadata: { ...definition.metadata, finalizers: others } }, { fieldManager });
  }
}
