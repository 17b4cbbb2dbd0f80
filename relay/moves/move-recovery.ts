/**
 * Handles children with another history: their mailbox does not belong to this store (recovered-rows.ts). Decides when such a child has reported everything,
 * and then changes the rows of moves.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { type MoveRow, mayJoin, mayLeave } from '../../core/move/move.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import type { Partial } from '../../core/summary/partial.ts';
import type { Child } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import { markDirty } from '../work/dirty.ts';
import type { MoveStore } from './move-store.ts';
import { hasOldCopyElsewhere, PendingHistories, type RecoveredRows, recoverRows } from './recovered-rows.ts';

export interface MoveRecoveryPorts {
  readonly store: Store;
  readonly moveStore: MoveStore;
  readonly placements: Placements;
  readonly children: ReadonlyMap<string, Child>;
  /** This node has replicas, so an agent may come from another replica. */
  readonly hasReplicas: boolean;
  /** Returns whether this run of the process has received everything that the parent had. */
  hasReceivedFromParent(): boolean;
  reportedBy(reader: Reader, id: PlacementId, child: string): Partial | undefined;
  keep(t: Transaction, placement: Placement, child: string, row: MoveRow | undefined): void;
  now(placement: Placement): { nowMs: number; generation: number };
  enqueue(act: (t: Transaction) => void): void;
}

export class MoveRecovery {
  readonly #ports: MoveRecoveryPorts;
  /** Children with another history whose reports this node has not received completely. */
  readonly #histories = new PendingHistories();
  /** Children with another history that reported everything before this node had received the parent's feed. */
  readonly #waitingForParent = new Set<string>();
  /** `PLACEMENT RELAY`: relays that have copies of a placement which does not match them. A relay stays in the set until it may lose the placement. */
  readonly #toRecover = new Set<string>();

  constructor(ports: MoveRecoveryPorts) {
    this.#ports = ports;
  }

  /**
   * Call it before the child reports, if the child's copy of its mailbox does not match, or might not match, what this node recorded as sent. `wasRestored`:
   * this node sent the child's copy, and this node's store was restored since then.
   */
  hasOtherHistory(name: string, wasRestored: boolean): void {
    this.#histories.note(name, wasRestored);
  }

  /**
   * Call it when the child has reported everything. If the child has another history and can't come from another replica, the recovery waits for the parent's
   * feed.
   */
  arrived(name: string): void {
    const { hasReceivedFromParent, hasReplicas } = this.#ports;
    if (this.#histories.has(name) && !hasReplicas && !hasReceivedFromParent()) this.#waitingForParent.add(name);
    else this.#recover(name);
  }

  /**
   * Call it when a placement is new at this node. Children may have reported before: then a child that the placement does not match may have a copy from
   * another replica of this node, and the copy may have to stay. Where children can't come from another replica, their reports are handled after the parent's
   * feed, so this case does not occur.
   */
  placementCame(t: Transaction, placement: Placement): void {
    const { moveStore, children, hasReplicas, reportedBy } = this.#ports;
    if (!hasReplicas) return;
    for (const [name, child] of children) {
      const reported = (id: PlacementId) => reportedBy(t, id, name);
      // This node does not know the placement yet, so every copy that a child has belongs to another history.
      if (!hasOldCopyElsewhere({ name, child, moveStore, reported, hasReplicas, history: 'other' }, placement))
        continue;
      this.#note(t, name, { passed: [], kept: [placement], undone: [] });
    }
  }

  isToRecover(id: PlacementId, relay: string): boolean {
    return this.#toRecover.has(`${id} ${relay}`);
  }

  recoveryEnded(id: PlacementId, relay: string): void {
    this.#toRecover.delete(`${id} ${relay}`);
  }

  /** Call it when the scheduler has no work left. */
  idle(): void {
    if (this.#waitingForParent.size === 0 || !this.#ports.hasReceivedFromParent()) return;
    const names = [...this.#waitingForParent];
    this.#waitingForParent.clear();
    for (const name of names) this.#recover(name);
  }

  #recover(name: string): void {
    const { moveStore, placements, store, children, enqueue, hasReplicas, reportedBy } = this.#ports;
    const history = this.#histories.take(name);
    const rows = store.read((reader) => {
      const reported = (id: PlacementId) => reportedBy(reader, id, name);
      return recoverRows({ name, child: children.get(name), moveStore, placements, reported, hasReplicas, history });
    });
    if (rows.passed.length + rows.kept.length + rows.undone.length === 0) return;
    enqueue((t) => this.#note(t, name, rows));
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
      else this.#toRecover.add(`${placement.id} ${name}`);
      markDirty(t, 'match', `${placement.id} ${name}`);
    }
    for (const placement of undone) {
      if (moveStore.row(placement.id, name)) continue;
      keep(t, placement, name, mayJoin(placement.move, undefined, now(placement)).row);
      markDirty(t, 'match', `${placement.id} ${name}`);
    }
  }
}
