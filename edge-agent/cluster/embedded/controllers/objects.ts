/** The objects of the cluster, for its controllers: reads, and writes that do nothing when nothing changes. */
import type { Space } from '../../../../core/apiserver/space.ts';
import { boundPod } from '../../../../core/apiserver/verbs/object-parts.ts';
import { stableStringify } from '../../../../core/object/canonical.ts';
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject, OwnerReference } from '../../../../core/object/meta.ts';

/** The methods of a space that the embedded cluster uses. */
export type ControlledSpace = Pick<
  Space,
  | 'kinds'
  | 'storage'
  | 'get'
  | 'create'
  | 'update'
  | 'patch'
  | 'apply'
  | 'delete'
  | 'getScale'
  | 'updateScale'
  | 'keyOf'
  | 'parse'
>;

export interface ObjectFilter {
  readonly namespace?: string;
  /** The uid of the owner that is the controller. */
  readonly ownedBy?: string;
}

export class Objects {
  readonly #space: ControlledSpace;
  readonly #manager: string;

  constructor(space: ControlledSpace, manager: string) {
    this.#space = space;
    this.#manager = manager;
  }

  get(key: ObjectKey): KubeObject | undefined {
    return this.#space.get(key);
  }

  list(resource: GroupResource, listing: ObjectFilter = {}): KubeObject[] {
    const { namespace, ownedBy } = listing;
    const objects = this.#space.storage
      .scan(resource, namespace === undefined ? {} : { namespace })
      .map((stored) => this.#space.parse(stored));
    return ownedBy === undefined ? objects : objects.filter((object) => controllerOf(object)?.uid === ownedBy);
  }

  create(object: KubeObject): KubeObject {
    return this.#space.create(object, { fieldManager: this.#manager });
  }

  /** Writes `changed` if it differs from `before`. The write does not include the status. */
  update(before: KubeObject, changed: KubeObject): void {
    if (stableStringify(before) === stableStringify(changed)) return;
    this.#space.update(changed, { fieldManager: this.#manager });
  }

  /** Gives the pod its node, as a scheduler does. `scheduled` is the time. */
  bind(pod: KubeObject, nodeName: string, scheduled: string): void {
    const options = { fieldManager: this.#manager, subresource: 'binding' } as const;
    this.#space.update(boundPod(pod, nodeName, scheduled), options);
  }

  /** Writes the status, and the annotations if given, in one write that makes no new generation. */
  writeStatus(object: KubeObject, status: object, annotations = object.metadata.annotations): void {
    const { metadata } = object;
    const isAnnotated = stableStringify(metadata.annotations ?? {}) !== stableStringify(annotations ?? {});
    if (!isAnnotated && stableStringify(object.status ?? {}) === stableStringify(status)) return;
    const changed = { ...object, metadata: { ...metadata, ...(annotations ? { annotations } : {}) }, status };
    this.#space.update(changed, { fieldManager: this.#manager, subresource: 'status' });
  }

  /** The autoscaling/v1 Scale of the object. Undefined: the object does not exist. Throws MethodNotAllowed if its kind has no scale subresource. */
  scaleOf(key: ObjectKey): KubeObject | undefined {
    return this.#space.getScale(key);
  }

  /** Writes the number of replicas through the scale subresource, as an autoscaler does. */
  resize(key: ObjectKey, scale: KubeObject, replicas: number): void {
    this.#space.updateScale(key, { ...scale, spec: { replicas } }, { fieldManager: this.#manager });
  }

  /** Deletes the object. Does nothing if the object does not exist any more, or if another object has its name. */
  delete(object: KubeObject): void {
    const key = this.#space.keyOf(object);
    const { uid } = object.metadata;
    if (this.#space.get(key)?.metadata.uid !== uid) return;
    this.#space.delete(key, { propagationPolicy: 'Background', fieldManager: this.#manager });
  }
}

function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller);
}

/** The owner reference for an object that the owner creates. It names the owner as controller. */
export function ownerReference(owner: KubeObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name ?? '',
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}
