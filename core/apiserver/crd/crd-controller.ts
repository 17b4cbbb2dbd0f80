/**
 * Writes the status of CustomResourceDefinitions: their names, and whether they are served. When a definition is deleted, the controller first deletes the
 * objects of its kind (finalizer customresourcecleanup.apiextensions.k8s.io).
 */

import { bodyMentions, stableStringify } from '../../object/canonical.ts';
import { timestamp, withCondition } from '../../object/conditions.ts';
import type { GroupResource, ObjectKey } from '../../object/key.ts';
import { isTerminating } from '../../object/terminating.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { KeyQueue, turnMsMax } from '../lifecycle/key-queue.ts';
import type { Space } from '../space.ts';
import type { StoredObject } from '../storage.ts';
import { type CustomResourceDefinition, crdResource, type DefinitionNames, isDefinition } from './definition.ts';
import { acceptNames, isEstablished, isWaitingForNames } from './names.ts';

export interface CrdControllerOptions {
  readonly space: Space;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls `turn` shortly after the present commit (lifecycle/key-queue.ts). */
  readonly schedule: (turn: () => void) => void;
}

const cleanup = 'customresourcecleanup.apiextensions.k8s.io';
const fieldManager = 'crd-controller';
/** The facts about a definition, as of a revision, from which the controller decides about the names of other definitions. */
interface KnownDefinition {
  readonly revision: number;
  readonly group: string;
  readonly accepted: DefinitionNames | undefined;
  /** True if the definition has not got all names that it asks for. */
  readonly isWaiting: boolean;
}

function keyOf({ metadata: { name = '' } }: CustomResourceDefinition): ObjectKey {
  return { ...crdResource, namespace: '', name };
}

/** Maximal number of objects that one turn deletes. Each deletion is one transaction. */
const deletesPerTurnMax = 256;

export class CrdController {
  readonly #space: Space;
  readonly #clock: Clock;
  readonly #queue: KeyQueue;
  readonly #unsubscribe: () => void;
  /** By name. A definition may have megabytes, so each of its revisions is parsed once. */
  readonly #known = new Map<string, KnownDefinition>();
  /** The names of definitions that wait until their last object is deleted. */
  readonly #ending = new Set<string>();

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
          if (type === 'DELETED') this.#removed(name);
        } else if (type === 'DELETED' && this.#ending.has(`${resource}.${group}`)) {
          this.#queue.add(`${resource}.${group}`);
        }
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

  /** The deletion makes names free. Definitions of the group that wait for a name look again. */
  #removed(name: string): void {
    const group = this.#known.get(name)?.group ?? name.slice(name.indexOf('.') + 1);
    this.#known.delete(name);
    this.#ending.delete(name);
    for (const stored of this.#space.storage.scan(crdResource)) {
      const known = this.#knownOf(stored);
      if (known?.group === group && known.isWaiting) this.#queue.add(stored.key.name);
    }
  }

  #knownOf(stored: StoredObject): KnownDefinition | undefined {
    const { name } = stored.key;
    const known = this.#known.get(name);
    if (known?.revision === stored.revision) return known;
    const definition = this.#space.parse(stored);
    if (!isDefinition(definition)) return undefined;
    const { group } = definition.spec;
    const accepted = definition.status?.acceptedNames;
    const fresh = { revision: stored.revision, group, accepted, isWaiting: isWaitingForNames(definition) };
    this.#known.set(name, fresh);
    return fresh;
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
      this.#space.amend(keyOf(definition), { finalizers: [...finalizers, cleanup] }, fieldManager);
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
    this.#space.amend(keyOf(definition), { status }, fieldManager);
  }

  /** Names in the group that other kinds use: kinds without a definition, and definitions whose names were accepted earlier. */
  #othersOf(definition: CustomResourceDefinition): DefinitionNames[] {
    const { group } = definition.spec;
    const definitions = this.#space.storage
      .scan(crdResource)
      .filter(({ key }) => key.name !== definition.metadata.name)
      .map((stored) => this.#knownOf(stored));
    const fixed = this.#space.kinds.all().filter((kind) => kind.group === group && kind.definitionUid === undefined);
    return [
      ...fixed.map((kind) => ({ ...kind, plural: kind.resource, shortNames: [...kind.shortNames], categories: [] })),
      ...definitions.flatMap((known) => (known?.group === group && known.accepted ? [known.accepted] : [])),
    ];
  }

  #cleanUp(definition: CustomResourceDefinition): void {
    const of = { group: definition.spec.group, resource: definition.spec.names.plural };
    const { name, finalizers = [] } = definition.metadata;
    if (!finalizers.includes(cleanup)) return;
    // If another kind has the name of this definition, the objects under this name belong to the other kind.
    const isOwner =
      isEstablished(definition) && this.#space.kinds.byResource(of)?.definitionUid === definition.metadata.uid;
    this.#ending.add(name!);
    if (isOwner) {
      if (this.#deleteSome(of)) {
        this.#queue.add(name!);
        return;
      }
      if (this.#hasObjects(of)) return;
    }
    const others = finalizers.filter((finalizer) => finalizer !== cleanup);
    this.#space.amend(keyOf(definition), { finalizers: others }, fieldManager);
  }

  /** Deletes as many objects as one turn may delete. Returns true if objects are left that nobody has deleted. */
  #deleteSome(of: GroupResource): boolean {
    const untilMs = this.#clock.monotonicMs() + turnMsMax;
    const keys = this.#toDelete(of);
    for (const [index, key] of keys.entries()) {
      if (index === deletesPerTurnMax || this.#clock.monotonicMs() >= untilMs) return true;
      this.#space.delete(key, { propagationPolicy: 'Background', fieldManager });
    }
    return false;
  }

  /** Objects that nobody has deleted yet: as many as a turn deletes, and one more if there are more. */
  #toDelete(of: GroupResource): ObjectKey[] {
    const keys: ObjectKey[] = [];
    this.#space.storage.visit(of, {}, (stored) => {
      const mayBeDeleted = bodyMentions(stored.body, '"deletionTimestamp"');
      if (!mayBeDeleted || !isTerminating(this.#space.parse(stored))) keys.push(stored.key);
      return keys.length <= deletesPerTurnMax;
    });
    return keys;
  }

  #hasObjects(of: GroupResource): boolean {
    let has = false;
    this.#space.storage.visit(of, {}, () => {
      has = true;
      return false;
    });
    return has;
  }
}
