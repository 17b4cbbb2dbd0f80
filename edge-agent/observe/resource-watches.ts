/**
 * Watches of whole resources by name: which ones are watched is set as a list, and follows it. It is known of each whether its first events have
 * all come, since before nothing can be said of what is not there.
 */
import { formatKey, type GroupResource } from '../../core/object/key.ts';
import type { Cluster, ClusterEvent, ServedResource } from '../cluster/cluster.ts';

export interface ResourceWatchesEvents {
  on(event: ClusterEvent, resource: ServedResource): void;
  /** The first events of the resource have come: of these objects, and no others are there. */
  synced(resource: GroupResource, keys: ReadonlySet<string>): void;
  /** The resource is watched no more: its objects are not known. */
  ended(resource: GroupResource): void;
}

interface Watch {
  readonly resource: ServedResource;
  readonly stop: () => void;
  /** Keys told before `synced`; afterwards undefined. */
  initial: Set<string> | undefined;
}

export class ResourceWatches {
  readonly #cluster: Cluster;
  readonly #events: ResourceWatchesEvents;
  readonly #watches = new Map<string, Watch>();

  constructor(cluster: Cluster, events: ResourceWatchesEvents) {
    this.#cluster = cluster;
    this.#events = events;
  }

  /** Watches these and no others. */
  set(resources: Iterable<ServedResource>): void {
    const wanted = new Map([...resources].map((resource) => [resourceName(resource), resource]));
    for (const [name, watch] of this.#watches) {
      if (wanted.has(name)) continue;
      watch.stop();
      this.#watches.delete(name);
      this.#events.ended(watch.resource);
    }
    for (const resource of wanted.values()) this.add(resource);
  }

  add(resource: ServedResource): void {
    const name = resourceName(resource);
    if (this.#watches.has(name)) return;
    // The cluster may tell its first events before `watch` returns.
    let stop: (() => void) | undefined;
    const watch: Watch = { resource, initial: new Set(), stop: () => stop?.() };
    this.#watches.set(name, watch);
    const isCurrent = () => this.#watches.get(name) === watch;
    stop = this.#cluster.watch(resource, {
      on: (event) => {
        if (!isCurrent()) return;
        watch.initial?.add(formatKey(event.key));
        this.#events.on(event, resource);
      },
      synced: () => {
        const { initial } = watch;
        if (!isCurrent() || !initial) return;
        watch.initial = undefined;
        this.#events.synced(resource, initial);
      },
    });
  }

  /** All first events once more: what was passed over before may be of interest now. */
  restart(): void {
    const resources = [...this.#watches.values()].map((watch) => watch.resource);
    this.stop();
    for (const resource of resources) this.add(resource);
  }

  /** Watched, and its first events have not all come. */
  isPending(resource: GroupResource): boolean {
    return this.#watches.get(resourceName(resource))?.initial !== undefined;
  }

  get isAnyPending(): boolean {
    return [...this.#watches.values()].some((watch) => watch.initial);
  }

  stop(): void {
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
  }
}

export function resourceName({ group, resource }: GroupResource): string {
  return `${group}/${resource}`;
}
