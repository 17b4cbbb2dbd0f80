/** The settings of the node's own spaces that may change while the node runs: `spec.delivery` and `spec.limits` of the Space objects in the system space. */
import { spaceResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { SpaceStorage, StorageEvent } from '../../core/apiserver/storage.ts';
import type { DeliveryBounds } from '../../core/match/delivery-bounds.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { GroupResource } from '../../core/object/key.ts';

/** `spec.limits` of a Space. An absent field is no limit. */
export interface SpaceLimits {
  readonly objects?: number | undefined;
  readonly bytes?: number | undefined;
  /** A burst may have twice as many. */
  readonly requestsPerSecond?: number | undefined;
  readonly watches?: number | undefined;
}

export interface SpaceSettings {
  readonly delivery?: DeliveryBounds | undefined;
  readonly limits?: SpaceLimits | undefined;
}

const none: SpaceSettings = {};

/** Returns a function that returns the present settings of a space. Each write and each request asks, so the Space is parsed only when it has changed. */
export function settingsReader(system: Pick<SpaceStorage, 'get' | 'subscribe'>, space: string): () => SpaceSettings {
  const key = { ...spaceResource, namespace: '', name: space };
  let known: SpaceSettings | undefined;
  system.subscribe((events) => {
    if (events.some(({ object }) => isSpace(object.key) && object.key.name === space)) known = undefined;
  });
  return () => {
    if (!known) {
      const stored = system.get(key);
      known = stored ? settingsIn(stored.body) : none;
    }
    return known;
  };
}

export function isSpace({ group, resource }: GroupResource): boolean {
  return group === spaceResource.group && resource === spaceResource.resource;
}

/** Whether the change of a Space changes what the space may deliver. */
export function changesDelivery({ object, before }: StorageEvent): boolean {
  return !equalJson(settingsIn(object.body).delivery, before && settingsIn(before.body).delivery);
}

function settingsIn(body: Uint8Array): SpaceSettings {
  const { delivery, limits } = (parseBody(body).spec ?? {}) as SpaceSettings;
  return { delivery, limits };
}
