/**
 * Garbage collection by ownerReferences, as Kubernetes documents it (https://kubernetes.io/docs/concepts/architecture/garbage-collection/):
 * a dependent goes when none of its owners is there any more; an owner that is deleted in the foreground waits for the dependents
 * that block it; one that is orphaning waits until its dependents have forgotten it.
 *
 * An owner is there if an object of its kind and name, in the dependent's own namespace or cluster-scoped, has its uid. So a reference
 * into another namespace is one to nothing. A kind that is not served proves nothing: its owners count as there.
 */
import { parseBody } from '../../object/canonical.ts';
import { formatKey, type ObjectKey, parseKey } from '../../object/key.ts';
import { type KubeObject, type OwnerReference, parseApiVersion } from '../../object/meta.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { DeleteOptions, Space } from '../space.ts';
import type { StorageEvent, StoredObject } from '../storage.ts';
import { foregroundFinalizer, orphanFinalizer } from '../verbs/object-meta.ts';
import { KeyQueue } from './key-queue.ts';
import { OwnerIndex } from './owner-index.ts';
import { scanPages } from './scan-pages.ts';

export interface GarbageCollectorOptions {
  readonly space: Space;
  readonly clock: Clock;
  readonly logger: Logger;
  /** See KeyQueueOptions. */
  readonly schedule: (turn: () => void) => void;
}

const fieldManager = 'garbage-collector';
/** Dependents that one turn makes orphans of: a write each. */
const orphansPerTurnMax = 256;

type OwnerState = 'there' | 'absent' | 'waiting';

export class GarbageCollector {
  readonly #space: Space;
  readonly #queue: KeyQueue;
  readonly #index = new OwnerIndex();
  /** Owners in foreground deletion that were seen: uid → key. */
  readonly #waiting = new Map<string, string>();
  readonly #unsubscribe: () => void;

  /** Reads the whole space once, then follows its events. */
  constructor({ space, clock, logger, schedule }: GarbageCollectorOptions) {
    this.#space = space;
    this.#queue = new KeyQueue({ work: (key) => this.#collect(parseKey(key)), schedule, clock, logger });
    this.#unsubscribe = space.storage.subscribe((events) => {
      for (const event of events) this.#observe(event);
    });
    for (const resource of space.storage.resources()) {
      for (const stored of scanPages(space.storage, resource)) this.#observe({ type: 'ADDED', object: stored });
    }
  }

  close(): void {
    this.#unsubscribe();
    this.#queue.close();
  }

  #observe({ type, object: stored }: StorageEvent): void {
    const key = formatKey(stored.key);
    if (type === 'DELETED') {
      this.#changeOwners(key, []);
      if (this.#index.isEmpty()) return;
      const { uid = '' } = parseBody(stored.body).metadata;
      this.#waiting.delete(uid);
      for (const dependent of this.#index.dependentsOf(uid)) this.#queue.add(dependent);
      return;
    }
    if (mentions(stored, '"ownerReferences"')) {
      const { ownerReferences = [] } = parseBody(stored.body).metadata;
      this.#changeOwners(key, ownerReferences);
      if (ownerReferences.length > 0) this.#queue.add(key);
    } else {
      this.#changeOwners(key, []);
    }
    if (mentions(stored, '"deletionTimestamp"')) this.#queue.add(key);
  }

  #changeOwners(key: string, references: readonly OwnerReference[]): void {
    if (references.length === 0 && !this.#index.has(key)) return;
    for (const uid of this.#index.set(key, references)) {
      const owner = this.#waiting.get(uid);
      if (owner !== undefined) this.#queue.add(owner);
    }
  }

  #collect(key: ObjectKey): void {
    const object = this.#space.get(key);
    if (!object || !this.#space.kinds.byResource(key)) return;
    if (object.metadata.deletionTimestamp) {
      const { finalizers = [] } = object.metadata;
      if (finalizers.includes(orphanFinalizer)) this.#orphanDependents(key, object);
      else if (finalizers.includes(foregroundFinalizer)) this.#deleteDependents(key, object);
    } else if (object.metadata.ownerReferences) {
      this.#collectDependent(key, object, object.metadata.ownerReferences);
    }
  }

  #orphanDependents(key: ObjectKey, owner: KubeObject): void {
    const uid = owner.metadata.uid!;
    const dependents = this.#index.dependentsOf(uid);
    for (const dependent of dependents.slice(0, orphansPerTurnMax)) {
      const dependentKey = parseKey(dependent);
      const object = this.#space.get(dependentKey);
      if (object) this.#keepReferences(object, (reference) => reference.uid !== uid);
    }
    if (dependents.length > orphansPerTurnMax) this.#queue.add(formatKey(key));
    else this.#removeFinalizer(owner, orphanFinalizer);
  }

  #deleteDependents(key: ObjectKey, owner: KubeObject): void {
    const uid = owner.metadata.uid!;
    if (!this.#waiting.has(uid)) {
      this.#waiting.set(uid, formatKey(key));
      for (const dependent of this.#index.dependentsOf(uid)) this.#queue.add(dependent);
    }
    if (this.#index.hasBlockingDependents(uid, formatKey(key))) return;
    this.#waiting.delete(uid);
    this.#removeFinalizer(owner, foregroundFinalizer);
  }

  #collectDependent(key: ObjectKey, object: KubeObject, references: readonly OwnerReference[]): void {
    const states = new Map(references.map((reference) => [reference.uid, this.#stateOf(reference, key)]));
    const isThere = (reference: OwnerReference) => states.get(reference.uid) === 'there';
    if (references.some(isThere)) {
      if (!references.every(isThere)) this.#keepReferences(object, isThere);
      return;
    }
    const { uid = '', finalizers = [] } = object.metadata;
    const isWaitedFor = [...states.values()].includes('waiting');
    const dependents = this.#index.dependentsOf(uid);
    if (isWaitedFor && dependents.some((dependent) => this.#isWaiting(dependent))) this.#unblockOwners(object);
    // An owner that waits is gone only when everything below it is: so the dependent waits for its own, too.
    const propagationPolicy = isWaitedFor && dependents.length > 0 ? 'Foreground' : policyOf(finalizers);
    this.#space.delete(key, { preconditions: { uid }, propagationPolicy, fieldManager });
  }

  #stateOf(reference: OwnerReference, dependent: ObjectKey): OwnerState {
    const { group, version } = parseApiVersion(reference.apiVersion);
    const kinds = this.#space.kinds;
    const kind = kinds.byKind(group, version, reference.kind) ?? kinds.byKind(group, '', reference.kind);
    // Also an owner with a namespace, of an object without one, cannot be looked for.
    if (!kind || (kind.namespaced && dependent.namespace === '')) return 'there';
    const namespace = kind.namespaced ? dependent.namespace : '';
    const owner = this.#space.get({ group, resource: kind.resource, namespace, name: reference.name });
    if (owner?.metadata.uid !== reference.uid) return 'absent';
    return isWaitingForDependents(owner) ? 'waiting' : 'there';
  }

  #isWaiting(key: string): boolean {
    const object = this.#space.get(parseKey(key));
    return object !== undefined && isWaitingForDependents(object);
  }

  /** Owners in a circle would wait for each other for ever: one of them stops being waited for. */
  #unblockOwners(object: KubeObject): void {
    const ownerReferences = (object.metadata.ownerReferences ?? []).map((reference) => {
      return { ...reference, blockOwnerDeletion: false };
    });
    this.#space.update({ ...object, metadata: { ...object.metadata, ownerReferences } }, { fieldManager });
  }

  #keepReferences(object: KubeObject, keeps: (reference: OwnerReference) => boolean): void {
    const ownerReferences = (object.metadata.ownerReferences ?? []).filter(keeps);
    this.#space.update({ ...object, metadata: { ...object.metadata, ownerReferences } }, { fieldManager });
  }

  #removeFinalizer(object: KubeObject, finalizer: string): void {
    const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    this.#space.update({ ...object, metadata: { ...object.metadata, finalizers } }, { fieldManager });
  }
}

function isWaitingForDependents({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foregroundFinalizer) === true;
}

function policyOf(finalizers: readonly string[]): NonNullable<DeleteOptions['propagationPolicy']> {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}

/** Most objects have no owners and are not being deleted: their bytes are searched, not parsed. */
function mentions({ body }: StoredObject, word: string): boolean {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes(word);
}
