/**
 * Objects with finalizers that were deleted in their space. Such an object stays in the space until its finalizers are gone, and no placement sends it any
 * more. So a program with a finalizer on an EdgePlacement can wait until all copies are gone, and then do what has to come after them.
 */
import type { StoredObject } from '../../core/apiserver/storage.ts';
import { headOf } from '../../core/object/body-parts.ts';
import { bodyMentions } from '../../core/object/canonical.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { isTerminating } from '../../core/object/terminating.ts';

/** Returns the placement by which the space selects objects. A placement that was deleted selects nothing, and takes its objects away without waves. */
export function effectivePlacement(placement: KubeObject): KubeObject {
  if (!isTerminating(placement)) return placement;
  const {
    rollout: _waves,
    associated: _associated,
    upsync: _upsync,
    ...spec
  } = (placement.spec ?? {}) as Record<string, unknown>;
  return { ...placement, spec: { ...spec, downsync: [] } };
}

/** Returns the uid if the object was deleted. Most writes are about other objects, so the bytes are searched before they are parsed. */
export function deletedUid({ body }: StoredObject, isRemoved: boolean): string | undefined {
  if (!isRemoved && !bodyMentions(body, '"deletionTimestamp"')) return undefined;
  const object = headOf(body);
  return isRemoved || isTerminating(object) ? (object.metadata.uid ?? '') : undefined;
}
