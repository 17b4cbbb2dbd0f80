/** Keeps the ReplicaSet beside each Deployment with an aggregated status, in an own space (relay/spaces/shown-replica-set.ts). */
import type { Space } from '../../../core/apiserver/space.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { lacksRoom } from '../../../core/store/room.ts';
import {
  isShownReplicaSet,
  shownFor,
  shownReplicaSet,
  shownReplicaSetStatus,
  shownResource,
} from '../../spaces/shown-replica-set.ts';
import { updateStatus } from '../status/update-status.ts';
import type { StatusRecord, WrittenStatus } from './status-record.ts';

export class ReplicaSetBeside {
  readonly #record: StatusRecord;
  readonly #log: Logger;

  constructor(record: StatusRecord, log: Logger) {
    this.#record = record;
    this.#log = log;
  }

  /** Call it after the status of the object was written. Does nothing for other kinds. */
  sync(space: Space, source: string, key: ObjectKey): void {
    const deployment = isDeployment(key) ? space.get(key) : undefined;
    if (!deployment) return;
    const wanted = shownReplicaSet(deployment);
    const written = this.#record.get(source, key);
    const replicaSet = wanted.metadata.name!;
    // The record comes first. So if the process ends in between, the node still removes the ReplicaSet.
    this.#record.set(source, key, { replicaSet });
    try {
      const found = this.#made(space, key, wanted);
      if (found)
        updateStatus(space, found, shownReplicaSetStatus(deployment, found.metadata.generation ?? 0), this.#log);
    } catch (error) {
      // A quota of the space may refuse the object, or somebody may have an object of this name. The status of the Deployment is right without it.
      if (!(error instanceof BanyanError) || lacksRoom(error)) throw error;
      this.#log.debug({ object: replicaSet, reason: describeError(error) }, 'a ReplicaSet was not written');
    }
    if (written && written.replicaSet !== replicaSet) this.remove(space, key, written);
  }

  /** Removes the ReplicaSet that the record names. */
  remove(space: Space, { namespace }: ObjectKey, { replicaSet }: WrittenStatus): void {
    if (replicaSet === undefined) return;
    const key = { ...shownResource, namespace, name: replicaSet };
    const found = space.get(key);
    if (found && isShownReplicaSet(found)) space.delete(key);
  }

  /** Returns the ReplicaSet as the space has it. Undefined: somebody else has an object of this name. */
  #made(space: Space, { namespace }: ObjectKey, wanted: KubeObject): KubeObject | undefined {
    const key = { ...shownResource, namespace, name: wanted.metadata.name! };
    const found = space.get(key);
    if (!found) return space.create(wanted);
    if (!isShownReplicaSet(found) || found.metadata.deletionTimestamp !== undefined) return undefined;
    const { spec, metadata } = wanted as KubeObject & { spec: object };
    const isOwned = found.metadata.ownerReferences?.[0]?.uid === metadata.ownerReferences?.[0]?.uid;
    if (isOwned && sameReplicas(found, wanted)) return found;
    const { ownerReferences } = metadata;
    return space.update({
      ...found,
      metadata: { ...found.metadata, ...(ownerReferences ? { ownerReferences } : {}) },
      spec: { ...(found.spec as object), ...spec },
    });
  }
}

function isDeployment({ group, resource }: ObjectKey): boolean {
  return group === shownFor.group && resource === shownFor.resource;
}

function sameReplicas(a: KubeObject, b: KubeObject): boolean {
  const of = ({ spec }: KubeObject) => (spec ?? {}) as { replicas?: number; minReadySeconds?: number };
  const [x, y] = [of(a), of(b)];
  return x.replicas === y.replicas && (x.minReadySeconds ?? 0) === (y.minReadySeconds ?? 0);
}
