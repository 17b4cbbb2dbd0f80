/**
 * The status of a Location of the system space: how many agents it has, and how many of these are there. Many agents may have one Location, and change at once:
 * it is looked at once for all of them, with one look at each child.
 */
import type { Space } from '../../core/apiserver/space.ts';
import type { Child } from '../children/children.ts';
import { locationResource } from '../children/inventory.ts';
import { show } from './node-objects.ts';

export interface LocationCountsPorts {
  readonly space: Space;
  readonly children: ReadonlyMap<string, Child>;
  isConnected(child: string): boolean;
}

/** Looked at in one run: a read each, and a write where something has changed. */
const locationsPerRun = 50;

interface InstanceCounts {
  instances: number;
  availableInstances: number;
}

export class LocationCounts {
  readonly #ports: LocationCountsPorts;
  /** By agent, as it was seen last: what it has left has one less. */
  readonly #ofAgent = new Map<string, readonly string[]>();
  readonly #dirty = new Set<string>();

  constructor(ports: LocationCountsPorts) {
    this.#ports = ports;
  }

  /** What has lost its last agent while nobody looked would not be heard of. */
  start(): void {
    const { space } = this.#ports;
    for (const stored of space.storage.scan(locationResource)) {
      const { status } = space.parse(stored) as { status?: Partial<InstanceCounts> };
      if ((status?.instances ?? 0) > 0) this.#dirty.add(stored.key.name);
    }
  }

  /** An agent has come or gone, is connected or not, or is selected by other Locations. */
  childChanged(name: string): void {
    const child = this.#ports.children.get(name);
    const now = child?.role === 'agent' ? locationsOf(child) : [];
    for (const location of this.#ofAgent.get(name) ?? []) this.#dirty.add(location);
    for (const location of now) this.#dirty.add(location);
    if (now.length > 0) this.#ofAgent.set(name, now);
    else this.#ofAgent.delete(name);
  }

  /** Some of what has changed; true if more is left. */
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
    if (!object || object.metadata.deletionTimestamp !== undefined) return;
    show(space, { ...object, status: { ...(object.status as object | undefined), ...counts } });
  }
}

function locationsOf({ destinations }: Child): string[] {
  return destinations.filter(({ origin }) => origin === undefined).map(({ location }) => location);
}
