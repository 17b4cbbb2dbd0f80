/**
 * The status of a Location of the system space: how many agents it has, and how many of them are available. Many agents may have the same Location and change
 * at the same time, so one run over the children counts for all changed Locations.
 */

import type { Space } from '../../core/apiserver/space.ts';
import { isTerminating } from '../../core/object/terminating.ts';
import type { Child } from '../children/children.ts';
import { locationResource } from '../children/inventory.ts';
import { show } from './node-objects.ts';

export interface LocationCountsPorts {
  readonly space: Space;
  readonly children: ReadonlyMap<string, Child>;
  isConnected(child: string): boolean;
}

/** Limit for the Locations of one run. Each costs one read, and one write if something has changed. */
const locationsPerRun = 50;

interface InstanceCounts {
  instances: number;
  availableInstances: number;
}

export class LocationCounts {
  readonly #ports: LocationCountsPorts;
  /** The Locations of each agent at its last change. A Location that the agent leaves has to be counted again. */
  readonly #ofAgent = new Map<string, readonly string[]>();
  readonly #dirty = new Set<string>();

  constructor(ports: LocationCountsPorts) {
    this.#ports = ports;
  }

  /** Marks all Locations that show instances. A Location may have lost its last agent while the node did not run; then no change would name the Location. */
  start(): void {
    const { space } = this.#ports;
    for (const stored of space.storage.scan(locationResource)) {
      const { status } = space.parse(stored) as { status?: Partial<InstanceCounts> };
      if ((status?.instances ?? 0) > 0) this.#dirty.add(stored.key.name);
    }
  }

  /** Call it when an agent was added or removed, when its connection began or ended, or when other Locations select it. */
  childChanged(name: string): void {
    const child = this.#ports.children.get(name);
    const locations = child?.role === 'agent' ? locationsOf(child) : [];
    for (const location of this.#ofAgent.get(name) ?? []) this.#dirty.add(location);
    for (const location of locations) this.#dirty.add(location);
    if (locations.length > 0) this.#ofAgent.set(name, locations);
    else this.#ofAgent.delete(name);
  }

  /** Shows some of the changed Locations. Returns true if more of them remain. */
  show(): boolean {
    if (this.#dirty.size === 0) return false;
    const locations = [...this.#dirty].slice(0, locationsPerRun);
    for (const [location, counts] of this.#count(locations)) {
      this.#showOne(location, counts);
      this.#dirty.delete(location);
    }
    return this.#dirty.size > 0;
  }

  #count(locations: readonly string[]): Map<string, InstanceCounts> {
    const { children, isConnected } = this.#ports;
    const all = new Map(locations.map((location) => [location, { instances: 0, availableInstances: 0 }]));
    for (const { name, destinations } of children.values()) {
      for (const { location, origin, cordoned } of destinations) {
        const counts = origin === undefined ? all.get(location) : undefined;
        if (!counts) continue;
        counts.instances++;
        if (!cordoned && isConnected(name)) counts.availableInstances++;
      }
    }
    return all;
  }

  #showOne(location: string, counts: InstanceCounts): void {
    const { space } = this.#ports;
    const object = space.get({ ...locationResource, namespace: '', name: location });
    if (!object || isTerminating(object)) return;
    show(space, { ...object, status: { ...(object.status as object | undefined), ...counts } });
  }
}

function locationsOf({ destinations }: Child): string[] {
  return destinations.filter(({ origin }) => origin === undefined).map(({ location }) => location);
}
