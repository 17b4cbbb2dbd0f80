/** The settings of the node's own spaces that may change while the node runs: `spec.delivery` and `spec.limits` of the Space objects in the system space. */
import type { SpaceStorage, StorageEvent } from '../../core/apiserver/storage.ts';
import type { DeliveryBounds } from '../../core/match/delivery-bounds.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { GroupResource } from '../../core/object/key.ts';

export const spaceResource = { group: 'mesh.banyan.io', resource: 'spaces' } as const;

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

/**
 * Returns a function that reads the settings of a space. Each write and each request asks, so the function parses the Space once for each of its revisions. It
 * always reads the Space of the system space itself: there is no copy that could be older.
 */
export function settingsReader(system: Pick<SpaceStorage, 'get'>, space: string): () => SpaceSettings {
  const key = { ...spaceResource, namespace: '', name: space };
  let known: { readonly revision: number; readonly settings: SpaceSettings } | undefined;
  return () => {
    const stored = system.get(key);
    if (!stored) return none;
    if (known?.revision !== stored.revision) {
      known = { revision: stored.revision, settings: settingsIn(stored.body) };
    }
    return known.settings;
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
