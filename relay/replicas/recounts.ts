/** When the reports of children begin or cease to count, all rooms that add up reports compute their sums again, in one transaction. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import { isBeingScheduled } from '../work/dirty.ts';
import { atChild, type PlacementAtChild, recountedTopic, splitAtChild } from '../work/topics.ts';

/** The rooms that add up reports. */
export interface ReplicaSums {
  /** Adds up the label summaries of these children again. */
  labels(t: Transaction, children: readonly string[]): void;
  /** Decides again which reports about the nodes below a child count. */
  nodes(t: Transaction, child: string): void;
  /** Adds up the child's reports about placements again. Returns the placements whose sums may have changed. */
  placements(t: Transaction, child: string): Iterable<PlacementId>;
  contributionsChanged(keys: ReadonlySet<PlacementAtChild>): void;
  /** Decides on the move of a placement again: the new sums may allow a grant, and no further report from below would cause the decision. */
  decide(id: PlacementId): void;
  report(ids: readonly PlacementId[]): void;
}

export class ReplicaRecount {
  readonly #store: Store;
  readonly #sums: ReplicaSums;

  constructor(store: Store, sums: ReplicaSums) {
    this.#store = store;
    this.#sums = sums;
  }

  /** Computes all sums with these children again. Returns the placements whose sums may have changed. */
  recount(children: readonly string[]): PlacementId[] {
    const { labels, nodes, placements, contributionsChanged, decide } = this.#sums;
    const affected = this.#store.write((t) => {
      labels(t, children);
      return children.flatMap((child) => {
        nodes(t, child);
        t.announce(recountedTopic, child);
        return Array.from(placements(t, child), (id) => atChild(id, child));
      });
    });
    // Called and not announced: the caller reports right after this, and an announcement may be delivered only later.
    contributionsChanged(new Set(affected));
    const ids = [...new Set(affected.map((key) => splitAtChild(key).id))];
    for (const id of ids) decide(id);
    return ids;
  }

  /** Computes the sums again, and reports them. Returns false if the scheduler has work left for one of these placements: then the caller must call again. */
  recountChildren(children: readonly string[]): boolean {
    const ids = this.recount(children);
    if (this.#store.read((reader) => ids.some((id) => isBeingScheduled(reader, id)))) return false;
    this.#sums.report(ids);
    return true;
  }
}
