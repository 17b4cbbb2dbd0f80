/** Children that come with what this node does not know: when each is heard out, and what becomes of the rows of moves by that (recovered-rows.ts says what). */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { type MoveRow, mayJoin, mayLeave } from '../../core/move/move.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import type { Partial } from '../../core/summary/partial.ts';
import type { Child } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import { markDirty } from '../work/dirty.ts';
import type { MoveStore } from './move-store.ts';
import { hasOldCopyElsewhere, Others, type RecoveredRows, recoverRows } from './recovered-rows.ts';

export interface MoveRecoveryPorts {
  readonly store: Store;
  readonly moveStore: MoveStore;
  readonly placements: Placements;
  readonly children: ReadonlyMap<string, Child>;
  /** Agents may come that were elsewhere. */
  readonly hasReplicas: boolean;
  /** All that the parent had was heard in this run of the process. */
  hasReceivedFromParent(): boolean;
  reportedBy(reader: Reader, id: PlacementId, child: string): Partial | undefined;
  keep(t: Transaction, placement: Placement, child: string, row: MoveRow | undefined): void;
  now(placement: Placement): { nowMs: number; generation: number };
  enqueue(act: (t: Transaction) => void): void;
}

export class MoveRecovery {
  readonly #ports: MoveRecoveryPorts;
  /** Agents that came with what this node does not know, until they are heard out. */
  readonly #others = new Others();
  /** Of these, those that were heard before the parent. */
  readonly #early = new Set<string>();
  /** `PLACEMENT CHILD` of relays that are to hear of a placement which does not match them: they have something of it. Until they may lose it. */
  readonly #toHear = new Set<string>();

  constructor(ports: MoveRecoveryPorts) {
    this.#ports = ports;
  }

  /** Before a child is heard: it has of its mailbox what this node does not know, or, as the node's store was put back, no longer knows. */
  hasOtherHistory(name: string, wasPutBack: boolean): void {
    this.#others.note(name, wasPutBack);
  }

  /** All that a child has to say is known here. Where its mailbox is another one, it waits for what the parent has, and is looked at after that. */
  arrived(name: string): void {
    const { hasReceivedFromParent, hasReplicas } = this.#ports;
    if (this.#others.has(name) && !hasReplicas && !hasReceivedFromParent()) this.#early.add(name);
    else this.#recover(name);
  }

  /**
   * A placement is new here, and children were heard before it came: what one that it does not match has of it by a sibling of this node may be a copy to keep.
   * Where children come from nowhere else, they are heard out behind what the parent has.
   */
  placementCame(t: Transaction, placement: Placement): void {
    const { moveStore, children, hasReplicas, reportedBy } = this.#ports;
    if (!hasReplicas) return;
    for (const [name, child] of children) {
      const reported = (id: PlacementId) => reportedBy(t, id, name);
      // To this node, whatever they have of it is of another history.
      if (!hasOldCopyElsewhere({ name, child, moveStore, reported, hasReplicas, history: 'other' }, placement))
        continue;
      this.#note(t, name, { passed: [], kept: [placement], undone: [] });
    }
  }

  isToRecover(id: PlacementId, relay: string): boolean {
    return this.#toHear.has(`${id} ${relay}`);
  }

  hasHeard(id: PlacementId, relay: string): void {
    this.#toHear.delete(`${id} ${relay}`);
  }

  /** All that is here is worked off. */
  idle(): void {
    if (this.#early.size === 0 || !this.#ports.hasReceivedFromParent()) return;
    const names = [...this.#early];
    this.#early.clear();
    for (const name of names) this.#recover(name);
  }

  #recover(name: string): void {
    const { moveStore, placements, store, children, enqueue, hasReplicas, reportedBy } = this.#ports;
    const history = this.#others.take(name);
    const heard = store.read((reader) => {
      const reported = (id: PlacementId) => reportedBy(reader, id, name);
      return recoverRows({ name, child: children.get(name), moveStore, placements, reported, hasReplicas, history });
    });
    if (heard.passed.length + heard.kept.length + heard.undone.length === 0) return;
    enqueue((t) => this.#note(t, name, heard));
  }

  #note(t: Transaction, name: string, { passed, kept, undone }: RecoveredRows): void {
    const { moveStore, placements, children, keep, now } = this.#ports;
    for (const id of passed) {
      const row = moveStore.row(id, name)!;
      const placement = placements.get(id);
      if (placement) keep(t, placement, name, row.state === 'returning' ? undefined : { ...row, granted: true });
      markDirty(t, 'match', `${id} ${name}`);
    }
    for (const placement of kept) {
      const isAgent = children.get(name)?.role === 'agent';
      const { row } = mayLeave(placement.move, undefined, now(placement));
      if (isAgent) keep(t, placement, name, row);
      else this.#toHear.add(`${placement.id} ${name}`);
      markDirty(t, 'match', `${placement.id} ${name}`);
    }
    for (const placement of undone) {
      if (moveStore.row(placement.id, name)) continue;
      keep(t, placement, name, mayJoin(placement.move, undefined, now(placement)).row);
      markDirty(t, 'match', `${placement.id} ${name}`);
    }
  }
}
