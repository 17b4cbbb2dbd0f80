/**
 * Watches whole resources, given as a list. For each resource, the class knows whether all first events have arrived: before that, nobody can know that an
 * object does not exist. The class also knows whether the cluster refuses to list the resource: then nobody must wait for the first events.
 */
import type { GroupResource } from '../../core/object/key.ts';
import type { BanyanError } from '../../core/runtime/errors.ts';
import type { Cluster, ClusterEvent, ServedResource, WatchEvents } from '../cluster/cluster.ts';

export interface ResourceWatchesEvents {
  on(event: ClusterEvent, resource: ServedResource): void;
  /** Called when all first events of the resource have arrived. `keys` are the keys of all its objects. */
  synced(resource: GroupResource, keys: ReadonlySet<string>): void;
  /** Called when the cluster refuses to list the resource. The first events arrive only after the cluster allows the list. */
  refused(resource: GroupResource): void;
  /** Called when the resource is not watched any more: its objects are unknown. */
  ended(resource: GroupResource): void;
}

interface OpenResourceWatch {
  readonly resource: ServedResource;
  readonly metadataOnly: boolean;
  readonly stop: () => void;
  state: 'pending' | 'refused' | 'seen';
}

export class ResourceWatches {
  readonly #cluster: Cluster;
  readonly #events: ResourceWatchesEvents;
  readonly #watches = new Map<string, OpenResourceWatch>();

  constructor(cluster: Cluster, events: ResourceWatchesEvents) {
    this.#cluster = cluster;
    this.#events = events;
  }

  /** Watches these resources and no others. Of the resources in `bare`, it watches only the metadata. */
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

  /** Watches the resource, if it is not watched yet. */
  add(resource: ServedResource, metadataOnly = false): void {
    const name = resourceName(resource);
    if (this.#watches.has(name)) return;
    // The cluster may send the first events before `watch` returns.
    let stop: (() => void) | undefined;
    const watch: OpenResourceWatch = { resource, metadataOnly, state: 'pending', stop: () => stop?.() };
    this.#watches.set(name, watch);
    const isCurrent = () => this.#watches.get(name) === watch;
    const events: WatchEvents = {
      on: (event) => {
        if (isCurrent()) this.#events.on(event, resource);
      },
      synced: (there) => {
        if (!isCurrent() || watch.state === 'seen') return;
        watch.state = 'seen';
        this.#events.synced(resource, there);
      },
      trouble: (error) => {
        if (!isCurrent() || watch.state !== 'pending' || !isRefusal(error)) return;
        watch.state = 'refused';
        this.#events.refused(resource);
      },
    };
    stop = this.#cluster.watch(resource, events, { metadataOnly });
  }

  /** Requests all first events again: objects that were skipped before may matter now. */
  restart(): void {
    const watches = [...this.#watches.values()];
    this.stop();
    for (const { resource, metadataOnly } of watches) this.add(resource, metadataOnly);
  }

  /** Whether the first events of the watched resource are still missing, and will arrive. */
  isPending(resource: GroupResource): boolean {
    return this.#watches.get(resourceName(resource))?.state === 'pending';
  }

  /** Whether an object without an event does not exist: the resource is not watched, or all of its first events have arrived. */
  isSeen(resource: GroupResource): boolean {
    const watch = this.#watches.get(resourceName(resource));
    return watch === undefined || watch.state === 'seen';
  }

  stop(): void {
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
  }
}

/** Whether the cluster refuses the watch. A refusal lasts until somebody grants the permission or installs the kind. Any other error may end by itself. */
function isRefusal(error: BanyanError | undefined): boolean {
  return error?.code === 'Forbidden' || error?.code === 'NotFound';
}

export function resourceName({ group, resource }: GroupResource): string {
  return `${group}/${resource}`;
}
