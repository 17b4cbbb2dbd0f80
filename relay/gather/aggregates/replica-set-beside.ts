/** Keeps the ReplicaSets beside each Deployment with an aggregated status, in an own space (relay/spaces/shown-replica-set.ts). */
import type { Space } from '../../../core/apiserver/space.ts';
import { equalJson } from '../../../core/object/json-value.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { isTerminating } from '../../../core/object/terminating.ts';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { lacksRoom } from '../../../core/store/room.ts';
import {
  formerMax,
  formerReplicaSet,
  formerReplicaSetStatus,
  isShownReplicaSet,
  revisionOf,
  shownFor,
  shownName,
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
    const before = this.#record.get(source, key)?.replicaSets ?? [];
    const present = shownName(deployment);
    const former = before.filter((name) => name !== present);
    // The record comes first. So if the process ends in between, the node still removes the ReplicaSets. The last name is not yet the present one, so the next
    // run takes the replicas from the former one.
    if (before.at(-1) !== present) this.#record.set(source, key, { replicaSets: [present, ...former] });
    try {
      this.#show(space, key, deployment, { before, present });
    } catch (error) {
      // A quota of the space may refuse the object, or somebody may have an object of this name. The status of the Deployment is right without it.
      if (!(error instanceof BanyanError) || lacksRoom(error)) throw error;
      this.#log.debug({ object: present, reason: describeError(error) }, 'a ReplicaSet was not written');
    }
    const tooMany = former.slice(0, Math.max(0, former.length - formerMax(deployment)));
    this.remove(space, key, { replicaSets: tooMany });
    this.#record.set(source, key, { replicaSets: [...former.slice(tooMany.length), present] });
  }

  /** Removes the ReplicaSets that the record names. */
  remove(space: Space, { namespace }: ObjectKey, { replicaSets = [] }: WrittenStatus): void {
    for (const name of replicaSets) {
      if (shownIn(space, namespace, name)) space.delete({ ...shownResource, namespace, name });
    }
  }

  /** Writes the present ReplicaSet, and takes the replicas from the one before. `before`: the names in the record. `present`: the name for the template. */
  #show(
    space: Space,
    { namespace }: ObjectKey,
    deployment: KubeObject,
    { before, present }: { readonly before: readonly string[]; readonly present: string },
  ): void {
    const last = before.at(-1);
    const isNew = last !== present;
    const numberOf = (name: string) => revisionOf(shownIn(space, namespace, name));
    const own = isNew ? 0 : numberOf(present);
    const revision = own > 0 ? own : Math.max(0, ...before.map(numberOf)) + 1;
    const shown = createdOrUpdated(space, namespace, shownReplicaSet(deployment, revision));
    const { generation = 0 } = shown?.metadata ?? {};
    if (shown) updateStatus(space, shown, shownReplicaSetStatus(deployment, generation), this.#log);
    const former = isNew && last !== undefined ? shownIn(space, namespace, last) : undefined;
    if (!former) return;
    const empty = space.update(formerReplicaSet(former));
    updateStatus(space, empty, formerReplicaSetStatus(empty), this.#log);
  }
}

function shownIn(space: Space, namespace: string, name: string): KubeObject | undefined {
  const found = space.get({ ...shownResource, namespace, name });
  return found && isShownReplicaSet(found) ? found : undefined;
}

/** Returns the ReplicaSet as the space has it. Undefined: somebody else has an object of this name, or the object is being deleted. */
function createdOrUpdated(space: Space, namespace: string, wanted: KubeObject): KubeObject | undefined {
  const found = space.get({ ...shownResource, namespace, name: wanted.metadata.name! });
  if (!found) return space.create(wanted);
  if (!isShownReplicaSet(found) || isTerminating(found)) return undefined;
  const { annotations, ownerReferences } = wanted.metadata;
  const isOwned = found.metadata.ownerReferences?.[0]?.uid === ownerReferences?.[0]?.uid;
  if (isOwned && isSame(found, wanted)) return found;
  return space.update({
    ...found,
    metadata: {
      ...found.metadata,
      ...(annotations ? { annotations } : {}),
      ...(ownerReferences ? { ownerReferences } : {}),
    },
    spec: { ...(found.spec as object), ...(wanted.spec as object) },
  });
}

function isDeployment({ group, resource }: ObjectKey): boolean {
  return group === shownFor.group && resource === shownFor.resource;
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  const [x, y] = [specOf(a), specOf(b)];
  const isSameSpec = x.replicas === y.replicas && (x.minReadySeconds ?? 0) === (y.minReadySeconds ?? 0);
  const isSameTemplate = equalJson(x.template, y.template);
  return isSameSpec && isSameTemplate && equalJson(a.metadata.annotations ?? {}, b.metadata.annotations ?? {});
}

function specOf({ spec }: KubeObject) {
  return (spec ?? {}) as { replicas?: number; minReadySeconds?: number; template?: object };
}
