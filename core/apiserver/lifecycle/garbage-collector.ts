/**
 * Garbage collection by ownerReferences, as Kubernetes documents it (https://kubernetes.io/docs/concepts/architecture/garbage-collection/). The collector
 * deletes a dependent when none of its owners exists any more. An owner in foreground deletion waits for the dependents that block it. An owner that
 * orphans its dependents waits until none of them refers to it.
 *
 * An owner exists if an object with its kind, name and uid exists, in the namespace of the dependent or cluster-scoped. So an owner in another namespace
 * counts as absent. If the kind of an owner is not served, the collector can't check this, and the owner counts as existing.
 */

import { headOf } from '../../object/body-parts.ts';
import { bodyMentions } from '../../object/canonical.ts';
import { formatKey, type ObjectKey, parseKey } from '../../object/key.ts';
import { type KubeObject, type OwnerReference, parseApiVersion } from '../../object/meta.ts';
import { isTerminating } from '../../object/terminating.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { DeleteOptions, Space } from '../space.ts';
import { scanPages } from '../storage/scan-pages.ts';
import type { StorageEvent } from '../storage.ts';
import { foregroundFinalizer, orphanFinalizer } from '../verbs/object-meta.ts';
import { KeyQueue } from './key-queue.ts';
import { OwnerIndex } from './owner-index.ts';

export interface GarbageCollectorOptions {
  readonly space: Space;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls `turn` shortly after the present commit (key-queue.ts). */
  readonly schedule: (turn: () => void) => void;
}

const fieldManager = 'garbage-collector';
/** Maximal number of dependents from which one turn removes a reference to their owner. Each one is one write. */
const orphansPerTurnMax = 256;

type OwnerState = 'there' | 'absent' | 'waiting';

export class GarbageCollector {
  readonly #space: Space;
  readonly #queue: KeyQueue;
  readonly #index = new OwnerIndex();
  /** Owners in foreground deletion whose dependents are in the queue: uid → key. */
  readonly #waiting = new Map<string, string>();
  readonly #unsubscribe: () => void;

  /** Reads the whole space once. After that, follows the events of the space. */
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
      const { uid = '' } = headOf(stored.body).metadata;
      this.#waiting.delete(uid);
      for (const dependent of this.#index.dependentsOf(uid)) this.#queue.add(dependent);
      return;
    }
    if (bodyMentions(stored.body, '"ownerReferences"')) {
      const { ownerReferences = [] } = headOf(stored.body).metadata;
      this.#changeOwners(key, ownerReferences);
      if (ownerReferences.length > 0) this.#queue.add(key);
    } else {
      this.#changeOwners(key, []);
    }
    if (bodyMentions(stored.body, '"deletionTimestamp"')) this.#queue.add(key);
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
    // An owner in foreground deletion waits until all objects below it are deleted. So this dependent must wait for its own dependents too.
    const propagationPolicy = isWaitedFor && dependents.length > 0 ? 'Foreground' : policyOf(finalizers);
    this.#space.delete(key, { preconditions: { uid }, propagationPolicy, fieldManager });
  }

  #stateOf(reference: OwnerReference, dependent: ObjectKey): OwnerState {
    const { group, version } = parseApiVersion(reference.apiVersion);
    const kinds = this.#space.kinds;
    const kind = kinds.byKind(group, version, reference.kind) ?? kinds.byKind(group, '', reference.kind);
    // For a dependent without a namespace, the collector can't find an owner that has a namespace. Such an owner counts as existing too.
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

  /** Makes the dependent stop blocking its owners. Objects that own each other in a circle would otherwise wait for each other for ever. */
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

function isWaitingForDependents(object: KubeObject): boolean {
  return isTerminating(object) && object.metadata.finalizers?.includes(foregroundFinalizer) === true;
}

function policyOf(finalizers: readonly string[]): NonNullable<DeleteOptions['propagationPolicy']> {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}
