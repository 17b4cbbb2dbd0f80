/**
 * Watches of whole resources by name: which ones are watched is set as a list, and follows it. It is known of each whether its first events have
 * all come, since before nothing can be said of what is not there, and whether they are to be expected: what the cluster refuses is not waited for.
 */
import type { GroupResource } from '../../core/object/key.ts';
import type { BanyanError } from '../../core/runtime/errors.ts';
import type { Cluster, ClusterEvent, ServedResource, WatchEvents } from '../cluster/cluster.ts';

export interface ResourceWatchesEvents {
  on(event: ClusterEvent, resource: ServedResource): void;
  /** The first events of the resource have come: of these objects, and no others are there. */
  synced(resource: GroupResource, keys: ReadonlySet<string>): void;
  /** The cluster does not let it be listed: its first events are not to be expected soon, and come when it does. */
  refused(resource: GroupResource): void;
  /** The resource is watched no more: its objects are not known. */
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

  /** All first events once more: what was passed over before may be of interest now. */
  restart(): void {
    const watches = [...this.#watches.values()];
    this.stop();
    for (const { resource, metadataOnly } of watches) this.add(resource, metadataOnly);
  }

  /** Watched, and its first events have not all come, but are to be expected. */
  isPending(resource: GroupResource): boolean {
    return this.#watches.get(resourceName(resource))?.state === 'pending';
  }

  /** Not watched, or its first events have all come: what was not told is not there. */
  isSeen(resource: GroupResource): boolean {
    const watch = this.#watches.get(resourceName(resource));
    return watch === undefined || watch.state === 'seen';
  }

  stop(): void {
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
  }
}

/** It stays so until somebody gives the right, or installs the kind; anything else may be over soon. */
function isRefusal(error: BanyanError | undefined): boolean {
  return error?.code === 'Forbidden' || error?.code === 'NotFound';
}

export function resourceName({ group, resource }: GroupResource): string {
  return `${group}/${resource}`;
}
