/**
 * The inventory of a space: its Locations and SyncTargets, as destinations of agents. A Location selects SyncTargets by `spec.instanceSelector`. Without
 * `spec.instanceSelector`, a Location selects the SyncTarget of the same name. A SyncTarget of a system space has the name of the agent that serves it.
 */
import type { SpaceStorage, StorageEvent } from '../../core/apiserver/storage.ts';
import type { InventoryBody } from '../../core/entries/down-attributes.ts';
import { parseBody } from '../../core/object/canonical.ts';
import type { GroupResource } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { type LabelSelector, type Labels, matchesSelector } from '../../core/object/selector.ts';

export const locationResource = { group: 'inventory.banyan.io', resource: 'locations' } as const;
export const syncTargetResource = { group: 'inventory.banyan.io', resource: 'synctargets' } as const;

export interface InventoryLocation {
  readonly name: string;
  readonly labels: Labels;
  readonly object: KubeObject;
  readonly syncTarget: KubeObject;
}

export interface Schedulability {
  /** The destination gets no new placements; existing ones stay. */
  readonly unschedulable: boolean;
  /** The wall time from which the destination has no placements at all. */
  readonly evictAfterMs?: number;
}

/** A SyncTarget of an inventory space that stands for one agent, and the Locations that select the SyncTarget. */
export interface InventoryRow extends InventoryBody {
  /** `center.fleet/paris-17`: the space and the SyncTarget. */
  readonly origin: string;
}

interface SyncTargetSpec {
  readonly unschedulable?: boolean;
  readonly evictAfter?: string;
}

export class Inventory {
  readonly #storage: SpaceStorage;
  /** Locations with an instanceSelector. They are few, and they are the only Locations that a SyncTarget can't find by its own name. */
  readonly #selecting = new Map<string, KubeObject>();

  constructor(storage: SpaceStorage) {
    this.#storage = storage;
    for (const stored of storage.scan(locationResource)) this.#learn(stored.key.name, stored.body);
  }

  /** Called for each change of the system space. Returns the SyncTargets whose destinations may have changed. */
  note(event: StorageEvent): string[] {
    const { key, body } = event.object;
    if (isSyncTarget(key)) return [key.name];
    if (!isLocation(key)) return [];
    this.learn(event);
    const states = event.before ? [event.before.body, body] : [body];
    return this.selectedBy(states.map(parseBody));
  }

  /** Like `note`, but returns nothing: the caller asks later which SyncTargets the change concerns. */
  learn({ type, object }: StorageEvent): void {
    if (isLocation(object.key)) this.#learn(object.key.name, type === 'DELETED' ? undefined : object.body);
  }

  hasSyncTarget(name: string): boolean {
    return this.#storage.get({ ...syncTargetResource, namespace: '', name }) !== undefined;
  }

  /** Returns whether the SyncTarget allows placements, and until when. An unknown SyncTarget allows them. */
  takesPlacements(syncTarget: string): Schedulability {
    const stored = this.#storage.get({ ...syncTargetResource, namespace: '', name: syncTarget });
    return stored ? schedulabilityOf(parseBody(stored.body)) : { unschedulable: false };
  }

  syncTargets(): string[] {
    return this.#storage.scan(syncTargetResource).map((stored) => stored.key.name);
  }

  /** Returns the Locations that select a SyncTarget. A Location's own labels override the inherited ones. */
  locationsOf(syncTarget: string, inherited: Labels): InventoryLocation[] {
    const stored = this.#storage.get({ ...syncTargetResource, namespace: '', name: syncTarget });
    if (!stored) return [];
    const target = parseBody(stored.body);
    const namesake = this.#storage.get({ ...locationResource, namespace: '', name: syncTarget });
    const locations = [...(namesake ? [parseBody(namesake.body)] : []), ...this.#selecting.values()];
    const byName = new Map(locations.map((location) => [location.metadata.name!, location]));
    return [...byName.values()]
      .filter((location) => selectsTarget(location, target))
      .map((object) => ({
        name: object.metadata.name!,
        labels: { ...inherited, ...object.metadata.labels },
        object,
        syncTarget: target,
      }));
  }

  /** Returns the SyncTargets that a Location selects in at least one of these states, for example in its present state and in its previous one. */
  selectedBy(states: readonly KubeObject[]): string[] {
    if (states.every((location) => selectorOf(location) === undefined)) return [states[0]!.metadata.name!];
    return this.#storage
      .scan(syncTargetResource)
      .map((stored) => parseBody(stored.body))
      .filter((target) => states.some((location) => selectsTarget(location, target)))
      .map((target) => target.metadata.name!);
  }

  #learn(name: string, body: Uint8Array | undefined): void {
    const location = body && parseBody(body);
    if (location && selectorOf(location)) this.#selecting.set(name, location);
    else this.#selecting.delete(name);
  }
}

export function isLocation({ group, resource }: GroupResource): boolean {
  return group === locationResource.group && resource === locationResource.resource;
}

export function isSyncTarget({ group, resource }: GroupResource): boolean {
  return group === syncTargetResource.group && resource === syncTargetResource.resource;
}

export function schedulabilityOf(syncTarget: KubeObject): Schedulability {
  const { unschedulable = false, evictAfter } = (syncTarget.spec ?? {}) as SyncTargetSpec;
  const evictAfterMs = evictAfter === undefined ? Number.NaN : Date.parse(evictAfter);
  return { unschedulable, ...(Number.isNaN(evictAfterMs) ? {} : { evictAfterMs }) };
}

function selectorOf(location: KubeObject): LabelSelector | undefined {
  return (location.spec as { instanceSelector?: LabelSelector } | undefined)?.instanceSelector;
}

function selectsTarget(location: KubeObject, target: KubeObject): boolean {
  const selector = selectorOf(location);
  if (!selector) return location.metadata.name === target.metadata.name;
  return matchesSelector(selector, target.metadata.labels ?? {});
}
