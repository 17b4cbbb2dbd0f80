/** Steps of a scheduler, with the changes that each step announces. For benches that do the same work after a step as a node. */
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import type { Topic } from '../../core/store/topics.ts';
import { byPlacement, scheduledTopic } from '../../relay/work/topics.ts';

export interface ScheduleStep {
  readonly more: boolean;
  readonly changed: ReadonlySet<PlacementId>;
  /** For each other changed placement: the children that the step has looked at. */
  readonly changedWith: ReadonlyMap<PlacementId, ReadonlySet<string>>;
}

export class ScheduleSteps {
  readonly #store: Store;
  readonly #scheduled: () => PlacementId[];

  constructor(store: Store) {
    this.#store = store;
    this.#scheduled = announced(store, scheduledTopic);
  }

  step(scheduler: { step(t: Transaction): boolean }): ScheduleStep {
    const more = this.#store.write((t) => scheduler.step(t));
    const changed = new Set<PlacementId>();
    const changedWith = new Map<PlacementId, ReadonlySet<string>>();
    for (const [id, children] of byPlacement(this.#scheduled())) {
      if (children) changedWith.set(id, children);
      else changed.add(id);
    }
    return { more, changed, changedWith };
  }
}

/** Returns a function. Each call of it returns the keys of the topic that the store has announced since the previous call, in the same order. */
export function announced<K>(store: Store, topic: Topic<K>): () => K[] {
  const keys: K[] = [];
  store.subscribe(topic, (some) => keys.push(...some));
  return () => keys.splice(0);
}
