/** All spaces of one node: the system space with its inventory, and the inventory and workload spaces that its configuration names. */

import type { Space } from '../../core/apiserver/space.ts';
import type { Table } from '../../core/feed/feed.ts';
import { objectName } from '../../core/identity/node-path.ts';
import type { Transaction } from '../../core/store/store.ts';
import { Inventory } from '../children/inventory.ts';
import type { NodeConfig } from '../config/config.ts';
import type { RolloutOrigin } from '../rollout/controllers.ts';
import { markDirty } from '../work/dirty.ts';
import type { InventoryRows } from './inventory-rows.ts';
import { type OriginSpace, originSpaceOf } from './origins.ts';
import {
  type InventorySpace,
  type OpenSpace,
  openInventorySpace,
  openSpace,
  openWorkloadSpace,
  type SpacePorts,
  type WorkloadSpace,
} from './own-spaces.ts';
import type { PlacementSelection } from './selection.ts';

const spaceResource = { group: 'mesh.banyan.io', resource: 'spaces' };

export interface SpaceListeners {
  /** Told in the transaction that may change the destinations of a SyncTarget. */
  inventoryChanged(t: Transaction, syncTarget: string): void;
}

export class NodeSpaces {
  readonly inventory: Inventory;
  readonly #system: OpenSpace;
  /** By source: `center.retail`. */
  readonly #workload = new Map<string, WorkloadSpace>();

  readonly #inventories = new Map<string, InventorySpace>();

  constructor(ports: SpacePorts, { spaces }: Pick<NodeConfig, 'spaces'>, listeners: SpaceListeners) {
    let inventory: Inventory | undefined;
    this.#system = openSpace(ports, 'system', 'System', (t, event) => {
      for (const name of inventory?.note(event) ?? []) {
        markDirty(t, 'child', name);
        listeners.inventoryChanged(t, name);
      }
    });
    inventory = new Inventory(this.#system.storage);
    this.inventory = inventory;
    for (const { name, type } of spaces) {
      const source = `${objectName(ports.path)}.${name}`;
      if (type === 'Workload') this.#workload.set(source, openWorkloadSpace(ports, name, source));
      if (type === 'Inventory') this.#inventories.set(source, openInventorySpace(ports, name, source));
    }
    this.#show(spaces);
  }

  get system(): Space {
    return this.#system.space;
  }

  *workloads(): Generator<{ name: string; space: Space }> {
    for (const { space } of this.#workload.values()) yield { name: space.name, space };
  }

  /** All that clients reach under a name of their own. */
  *named(): Generator<Space> {
    for (const { space } of [...this.#workload.values(), ...this.#inventories.values()]) yield space;
  }

  /** Inventory spaces by source, with what they hold. */
  inventories(): Map<string, { space: Space; inventory: Inventory }> {
    const all = [...this.#inventories];
    return new Map(all.map(([source, { space, rows }]) => [source, { space, inventory: rows.inventory }]));
  }

  /** What brings objects of spaces to the tables of their sources. */
  *contributing(): Generator<PlacementSelection | InventoryRows> {
    for (const { rows } of this.#inventories.values()) yield rows;
    for (const { selection } of this.#workload.values()) yield selection;
  }

  /** The spaces whose objects travel, by source. */
  spaceIncarnations(): Map<string, OriginSpace> {
    const own = [...this.#workload, ...this.#inventories];
    return new Map(own.map(([source, { storage, table }]) => [source, originSpaceOf(source, storage, table)]));
  }

  /** What the rollouts of the node's own placements work on. */
  *origins(): Generator<RolloutOrigin> {
    for (const { source, space, selection } of this.#workload.values()) {
      yield { source, space, baseline: selection.baseline };
    }
  }

  /** At which revision the own sources are. */
  revisions(): Record<string, number> {
    const sources = [...this.#workload, ...this.#inventories];
    return Object.fromEntries(sources.map(([source, { space }]) => [source, space.storage.revision()]));
  }

  /** The workload space that a source names; undefined for sources above. */
  own(source: string): Space | undefined {
    return this.#workload.get(source)?.space;
  }

  tableOf(source: string): Table | undefined {
    return (this.#workload.get(source) ?? this.#inventories.get(source))?.table;
  }

  close(): void {
    for (const space of [...this.#workload.values(), ...this.#inventories.values()]) space.close();
    this.#system.close();
  }

  /** A Space object for each space of the configuration, and no other: what the configuration no longer names, or names as another type, is gone. */
  #show(spaces: NodeConfig['spaces']): void {
    const { space } = this.#system;
    const types = new Map<string, string>(spaces.map(({ name, type }) => [name, type]));
    for (const stored of space.storage.scan(spaceResource)) {
      const { metadata, spec } = space.parse(stored);
      const { type } = (spec ?? {}) as { type?: string };
      if (types.get(metadata.name!) === type) types.delete(metadata.name!);
      else space.delete(stored.key);
    }
    for (const [name, type] of types)
      space.create({ apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Space', metadata: { name }, spec: { type } });
  }
}
