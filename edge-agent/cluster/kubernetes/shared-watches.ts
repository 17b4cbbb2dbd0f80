/** The watches of a cluster. Listeners with the same options for the same resource share one list and one connection. */
import { formatGroupResource, type GroupResource } from '../../../core/object/key.ts';
import type { ClusterWatchOptions, WatchEvents } from '../cluster.ts';
import type { ResourceWatch } from './resource-watch.ts';

export class SharedWatches {
  readonly #begin: (resource: GroupResource, options: ClusterWatchOptions) => ResourceWatch;
  readonly #watches = new Map<string, ResourceWatch>();

  constructor(begin: (resource: GroupResource, options: ClusterWatchOptions) => ResourceWatch) {
    this.#begin = begin;
  }

  /** Adds a listener. Returns the function that removes the listener. The watch ends when its last listener has left. */
  join(resource: GroupResource, events: WatchEvents, options: ClusterWatchOptions): () => void {
    const { marked = false, metadataOnly = false } = options;
    const name = `${formatGroupResource(resource)} ${marked} ${metadataOnly}`;
    const watch = this.#watches.get(name) ?? this.#begin(resource, options);
    this.#watches.set(name, watch);
    const leave = watch.join(events);
    return () => {
      leave();
      if (watch.isUsed || this.#watches.get(name) !== watch) return;
      watch.stop();
      this.#watches.delete(name);
    };
  }

  /** The server's messages for resources that the agent is not allowed to watch. Each message once, sorted. */
  refusals(): string[] {
    const refused = [...this.#watches.values()].flatMap(({ trouble }) =>
      trouble?.code === 'Forbidden' ? [trouble] : [],
    );
    return [...new Set(refused.map(({ message }) => message))].sort();
  }

  stop(): void {
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
  }
}
