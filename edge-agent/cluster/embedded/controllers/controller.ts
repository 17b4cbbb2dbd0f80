/**
 * A controller of the embedded cluster looks at one object of its kind, and brings the rest of the cluster one step nearer to the state that the object
 * describes. The controller is level-based: it reads the present state, and does not care what woke it. If it does the same again, nothing changes.
 */
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { Objects } from './objects.ts';

export interface Controller {
  /** The name of the controller as field manager and in logs: `deployment-controller`. */
  readonly name: string;
  readonly resource: GroupResource;
  /** Other resources whose changes concern objects of this controller. */
  readonly watches: readonly OwnerWatch[];
  /**
   * Makes one step. Returns after how many milliseconds the controller has to look again without being woken. Undefined: the controller looks again only when
   * it is woken.
   */
  reconcile(object: KubeObject, key: ObjectKey, objects: Objects): number | undefined;
}

export interface OwnerWatch {
  readonly resource: GroupResource;
  /** The keys of the controller's objects that the changed object concerns. */
  concerned(object: KubeObject, objects: Objects): readonly ObjectKey[];
}

/** A watch of the given resource. A changed object concerns its controller owner, if the owner has the given kind. */
export function ownerWatch(resource: GroupResource, owner: GroupResource & { readonly kind: string }): OwnerWatch {
  return {
    resource,
    concerned(object) {
      const reference = object.metadata.ownerReferences?.find((one) => one.controller && one.kind === owner.kind);
      if (!reference) return [];
      return [
        {
          group: owner.group,
          resource: owner.resource,
          namespace: object.metadata.namespace ?? '',
          name: reference.name,
        },
      ];
    },
  };
}
