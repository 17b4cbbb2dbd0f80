/** What children tell counts from now on, or does no more: all rooms that add up what is told do it again, in one transaction. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import { isBeingScheduled } from '../work/dirty.ts';
import { atChild, type PlacementAtChild, splitAtChild } from '../work/topics.ts';

export interface ReplicaRecountPorts {
  readonly store: Store;
  /** The label summaries of these children. */
  labels(t: Transaction, children: readonly string[]): void;
  /** The nodes below a child. */
  nodes(t: Transaction, child: string): void;
  /** What it tells of placements; those concerned. */
  placements(t: Transaction, child: string): Iterable<PlacementId>;
  contributionsChanged(keys: ReadonlySet<PlacementAtChild>): void;
  /** A grant may be due by the new sums, and nobody below will tell anything more. */
  decide(id: PlacementId): void;
  report(ids: readonly PlacementId[]): void;
}

export class ReplicaRecount {
  readonly #ports: ReplicaRecountPorts;

  constructor(ports: ReplicaRecountPorts) {
    this.#ports = ports;
  }

  /** The placements concerned. */
  recount(children: readonly string[]): PlacementId[] {
    const { store, labels, nodes, placements, contributionsChanged, decide } = this.#ports;
    const concerned = store.write((t) => {
      labels(t, children);
      return children.flatMap((child) => {
        nodes(t, child);
        return Array.from(placements(t, child), (id) => atChild(id, child));
      });
    });
    contributionsChanged(new Set(concerned));
    const ids = [...new Set(concerned.map((key) => splitAtChild(key).id))];
    for (const id of ids) decide(id);
    return ids;
  }

  /** What is not worked off yet is told when it is: false, and this is asked again. */
  recountChildren(children: readonly string[]): boolean {
    const ids = this.recount(children);
    if (this.#ports.store.read((reader) => ids.some((id) => isBeingScheduled(reader, id)))) return false;
    this.#ports.report(ids);
    return true;
  }
}
