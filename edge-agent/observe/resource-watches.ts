/**
 * Watches of whole resources by name: which ones are watched is set as a list, and follows it. It is known of each whether its first events have
 * all come, since before nothing can be said of what is not there.
 */
import type { GroupResource } from '../../core/object/key.ts';
import type { Cluster, ClusterEvent, ServedResource, WatchEvents } from '../cluster/cluster.ts';

export interface ResourceWatchesEvents {
  on(event: ClusterEvent, resource: ServedResource): void;
  /** The first events of the resource have come: of these objects, and no others are there. */
  synced(resource: GroupResource, keys: ReadonlySet<string>): void;
  /** The resource is watched no more: its objects are not known. */
  ended(resource: GroupResource): void;
}

interface Watch {
  readonly resource: ServedResource;
  readonly metadataOnly: boolean;
  readonly stop: () => void;
  isPending: boolean;
}

export class ResourceWatches {
  readonly #cluster: Cluster;
  readonly #events: ResourceWatchesEvents;
  readonly #watches = new Map<string, Watch>();

  constructor(cluster: Cluster, events: ResourceWatchesEvents) {
    this.#cluster = cluster;
    this.#events = events;
  }

  /** Watches these and no others, and of `bare` ones their metadata. */
  set(resources: Iterable<ServedResource>, bare: Iterable<ServedResource> = []): void {
    const whole = new Map([...resources].map((resource) => [resourceName(resource), resource]));
    const wanted = new Map([...[...bare].map((one) => [resourceName(one), one] as const), ...whole]);
    for (const [name, watch] of this.#watches) {
      if (wanted.has(name) && watch.metadataOnly !== whole.has(name)) continue;
      watch.stop();
      this.#watches.delete(name);
      this.#events.ended(watch.resource);
    }
    for (const [name, resource] of wanted) this.add(resource, !whole.has(name));
  }

  /** If it is not watched yet. */
  add(resource: ServedResource, metadataOnly = false): void {
    const name = resourceName(resource);
    if (this.#watches.has(name)) return;
    // The cluster may tell its first events before `watch` returns.
    let stop: (() => void) | undefined;
    const watch: Watch = { resource, metadataOnly, isPending: true, stop: () => stop?.() };
    this.#watches.set(name, watch);
    const isCurrent = () => this.#watches.get(name) === watch;
    const events: WatchEvents = {
      on: (event) => {
        if (isCurrent()) this.#events.on(event, resource);
      },
      synced: (there) => {
        if (!isCurrent() || !watch.isPending) return;
        watch.isPending = false;
        this.#events.synced(resource, there);
      },
    };
    stop = this.#cluster.watch(resource, events, { metadataOnly });
  }

  /** All first events once more: what was passed over before may be of interest now. */
  restart(): void {
    const watches = [...this.#watches.values()];
    this.stop();
    for (const { resource, metadataOnly } of watches) this.add(resource, metadataOnly);
  }

  /** Watched, and its first events have not all come. */
  isPending(resource: GroupResource): boolean {
    return this.#watches.get(resourceName(resource))?.isPending === true;
  }

  get isAnyPending(): boolean {
    return [...this.#watches.values()].some((watch) => watch.isPending);
  }

  stop(): void {
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
  }
}

export function resourceName({ group, resource }: GroupResource): string {
  return `${group}/${resource}`;
}
