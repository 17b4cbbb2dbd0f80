/**
 * Statuses of the SyncTargets and Locations in this node's inventory spaces. If the agent of a SyncTarget is a child of this node, the SyncTarget has the same
 * status as a SyncTarget of the system space. If the agent is deeper, only its parent knows its state; the status then names the node where people can look. A
 * Location that selects a SyncTarget of a deeper agent shows no number of available instances: this node does not know all of them, and people would take a
 * part for the whole.
 */

import type { Space } from '../../core/apiserver/space.ts';
import type { StorageEvent } from '../../core/apiserver/storage.ts';
import type { NodeAttributes } from '../../core/entries/up-attributes.ts';
import { childPath, childTowards, parentOf } from '../../core/identity/node-path.ts';
import { isTerminating } from '../../core/object/terminating.ts';
import {
  type Inventory,
  isLocation,
  isSyncTarget,
  locationResource,
  syncTargetResource,
} from '../children/inventory.ts';
import { changesOnlyStatus } from '../spaces/payload.ts';
import { show } from './node-objects.ts';
import { type AgentConnection, showSyncTarget } from './sync-target-status.ts';

export interface ShownInventory {
  readonly space: Space;
  readonly inventory: Inventory;
}

export interface InventoryStatusesPorts {
  /** The path of this node. */
  readonly path: string;
  /** Keyed by source: `center.fleet`. */
  inventories(): ReadonlyMap<string, ShownInventory>;
  connection(child: string): AgentConnection;
  /** Returns the report about its cluster by an agent that is a child of this node. */
  reportOf(child: string): NodeAttributes | undefined;
  /** Called when there is something to show. */
  changed(): void;
}

/** Limit for the objects of one run, which takes some milliseconds. For a Location, the run looks at each SyncTarget of its space. */
const objectsPerRun = 50;

interface SyncTargetRow {
  readonly attachTo: string;
  /** Names of the Locations that select it. */
  readonly locations: readonly string[];
}

export class InventoryStatuses {
  readonly #ports: InventoryStatusesPorts;
  /** These maps and sets are keyed by source and name, like an `i/` row: `center.fleet/cafe`. */
  readonly #targets = new Map<string, SyncTargetRow>();
  readonly #byAgent = new Map<string, Set<string>>();
  readonly #dirtyTargets = new Set<string>();
  readonly #dirtyLocations = new Set<string>();
  /** Keyed by source: ends the subscription to the space. */
  readonly #followed = new Map<string, () => void>();

  constructor(ports: InventoryStatusesPorts) {
    this.#ports = ports;
  }

  /** Call it at the start, and when a space was opened or removed. */
  follow(): void {
    const inventories = this.#ports.inventories();
    for (const [source, unsubscribe] of this.#followed) {
      if (inventories.has(source)) continue;
      unsubscribe();
      this.#followed.delete(source);
      this.#forget(source);
    }
    for (const [source, { space, inventory }] of inventories) {
      if (this.#followed.has(source)) continue;
      for (const name of inventory.syncTargets()) this.#dirtyTargets.add(`${source}/${name}`);
      for (const { key } of space.storage.scan(locationResource)) this.#dirtyLocations.add(`${source}/${key.name}`);
      this.#followed.set(
        source,
        space.storage.subscribe((events) => this.#note(source, events)),
      );
    }
  }

  #forget(source: string): void {
    const isOf = (row: string) => row.startsWith(`${source}/`);
    for (const target of [...this.#targets.keys()].filter(isOf)) this.#targets.delete(target);
    for (const all of [this.#dirtyTargets, this.#dirtyLocations, ...this.#byAgent.values()])
      for (const row of [...all].filter(isOf)) all.delete(row);
  }

  stop(): void {
    for (const unsubscribe of this.#followed.values()) unsubscribe();
    this.#followed.clear();
  }

  /** Call it when a child was added or removed, or when its report has changed. */
  childChanged(child: string): void {
    for (const target of this.#byAgent.get(childPath(this.#ports.path, child)) ?? []) this.#dirtyTargets.add(target);
  }

  /**
   * Shows some of the changed objects. Returns true if more of them remain. An object for which there is no room stays in the set. SyncTargets come first,
   * because the Locations count them.
   */
  show(wallMs: number): boolean {
    let objectsLeft = objectsPerRun;
    for (const target of this.#dirtyTargets) {
      if (objectsLeft-- === 0) return true;
      this.#showTarget(target, wallMs);
      this.#dirtyTargets.delete(target);
    }
    for (const location of this.#dirtyLocations) {
      if (objectsLeft-- <= 0) return true;
      this.#showLocation(location);
      this.#dirtyLocations.delete(location);
    }
    return false;
  }

  #note(source: string, events: readonly StorageEvent[]): void {
    let hasChanged = false;
    for (const event of events) {
      const { key } = event.object;
      const dirty = isSyncTarget(key) ? this.#dirtyTargets : isLocation(key) ? this.#dirtyLocations : undefined;
      // The statuses that this class writes itself must not make the object dirty again.
      if (!dirty || changesOnlyStatus(event)) continue;
      dirty.add(`${source}/${key.name}`);
      hasChanged = true;
    }
    if (hasChanged) this.#ports.changed();
  }

  #showTarget(target: string, wallMs: number): void {
    const { path, connection, reportOf } = this.#ports;
    const { shown, source, name } = this.#find(target);
    const object = shown.space.get({ ...syncTargetResource, namespace: '', name });
    const attachTo = (object?.spec as { attachTo?: string } | undefined)?.attachTo;
    const locations = shown.inventory.locationsOf(name, {}).map((location) => location.name);
    for (const location of [...(this.#targets.get(target)?.locations ?? []), ...locations])
      this.#dirtyLocations.add(`${source}/${location}`);
    this.#setRow(target, object && attachTo !== undefined ? { attachTo, locations } : undefined);
    if (!object || attachTo === undefined || isTerminating(object)) return;
    const child = this.#childAt(attachTo);
    if (child !== undefined) {
      showSyncTarget(shown.space, name, path, reportOf(child), connection(child), wallMs);
      return;
    }
    const message = `the agent is no child of this node; the system space of ${parentOf(attachTo)} has its state`;
    const condition = { type: 'Ready', status: 'Unknown', reason: 'BelowAnotherNode', message } as const;
    // The status is cleared: it may be from a time when the agent was a child of this node.
    show(shown.space, { ...object, status: {} }, [condition], wallMs);
  }

  #showLocation(key: string): void {
    const { shown, source, name } = this.#find(key);
    const object = shown.space.get({ ...locationResource, namespace: '', name });
    if (!object || isTerminating(object)) return;
    const targets = shown.inventory.selectedBy([object]).filter((target) => shown.inventory.hasSyncTarget(target));
    const children = targets.map((target) => this.#childAt(this.#targets.get(`${source}/${target}`)?.attachTo ?? ''));
    const available = targets.filter((target, i) => {
      const child = children[i];
      const { unschedulable } = shown.inventory.takesPlacements(target);
      return child !== undefined && !unschedulable && this.#ports.connection(child).connected;
    });
    const isWhole = children.every((child) => child !== undefined);
    const status = { instances: targets.length, ...(isWhole ? { availableInstances: available.length } : {}) };
    show(shown.space, { ...object, status });
  }

  #setRow(target: string, after: SyncTargetRow | undefined): void {
    const before = this.#targets.get(target);
    if (before && before.attachTo !== after?.attachTo) {
      const others = this.#byAgent.get(before.attachTo);
      others?.delete(target);
      if (others?.size === 0) this.#byAgent.delete(before.attachTo);
    }
    if (!after) {
      this.#targets.delete(target);
      return;
    }
    this.#targets.set(target, after);
    const all = this.#byAgent.get(after.attachTo) ?? new Set<string>();
    this.#byAgent.set(after.attachTo, all.add(target));
  }

  #childAt(attachTo: string): string | undefined {
    const child = childTowards(this.#ports.path, attachTo);
    return child !== undefined && childPath(this.#ports.path, child) === attachTo ? child : undefined;
  }

  #find(key: string): { shown: ShownInventory; source: string; name: string } {
    const slash = key.indexOf('/');
    const [source, name] = [key.slice(0, slash), key.slice(slash + 1)];
    return { shown: this.#ports.inventories().get(source)!, source, name };
  }
}
