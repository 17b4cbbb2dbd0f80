/**
 * Decides what the reports of a child change in the rows of moves, once the child has reported everything. The child's history may belong to another replica of
 * this node, or to a store incarnation of this node that is over: the store was lost or restored from an older copy. Then the store knows less than the child,
 * or something else.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { isOver } from '../../core/move/move-part.ts';
import type { Partial } from '../../core/summary/partial.ts';
import { type Child, matchChild } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import type { MoveStore } from './move-store.ts';

/**
 * The reason why a child's copy of its mailbox does not belong to this store: the store was restored after the child received the copy (`restored`), or the
 * copy comes from another store (`other`).
 */
export type History = 'restored' | 'other';

/**
 * Children with another history that have not reported everything. Bound: one name for each child. A child stays in the map until it has reported everything:
 * after a broken session, another one begins.
 */
export class PendingHistories {
  readonly #histories = new Map<string, History>();

  /**
   * A session may break before the reconciliation is complete. After that, the child's next session does not show any more that the store was restored. So
   * `restored` is never replaced by `other`.
   */
  note(name: string, wasRestored: boolean): void {
    if (wasRestored) this.#histories.set(name, 'restored');
    else if (!this.#histories.has(name)) this.#histories.set(name, 'other');
  }

  has(name: string): boolean {
    return this.#histories.has(name);
  }

  take(name: string): History | undefined {
    const history = this.#histories.get(name);
    this.#histories.delete(name);
    return history;
  }
}

export interface RecoveryInput {
  readonly name: string;
  readonly child: Child | undefined;
  readonly moveStore: MoveStore;
  readonly placements: Placements;
  reported(id: PlacementId): Partial | undefined;
  readonly hasReplicas: boolean;
  readonly history: History | undefined;
}

export interface RecoveredRows {
  /** Placements in whose move the agent has gone further than this node's row shows. */
  readonly passed: PlacementId[];
  /** Placements that do not match the child, and of which the child has an old copy that must stay. */
  readonly kept: Placement[];
  /** Placements that the child's mailbox has, but that the child has removed since the backup. */
  readonly undone: Placement[];
}

export function recoverRows(input: RecoveryInput): RecoveredRows {
  const { name, moveStore, hasReplicas, history } = input;
  return {
    passed: [...moveStore.placementsOf(name)].filter((id) => hasPassed(input, id)),
    kept: hasReplicas || history ? oldCopiesElsewhere(input) : [],
    undone: history === 'restored' ? removedSince(input) : [],
  };
}

/**
 * Returns whether the move has gone on at another replica of this node; then this node must not undo it. Two cases: the row says that the agent waits for its
 * copy (joining or returning), and the agent has the copy. Or the row says that the agent keeps its copy (leaving), and the agent has none. If the agent can't
 * come from another replica, a missing copy is lost, and the agent gets it again.
 */
function hasPassed({ name, moveStore, reported, hasReplicas }: RecoveryInput, id: PlacementId): boolean {
  const row = moveStore.row(id, name);
  const hasCopy = reported(id) !== undefined;
  if (row?.granted) return false;
  if (row?.state === 'joining') return hasCopy;
  return hasReplicas && ((row?.state === 'leaving' && !hasCopy) || (row?.state === 'returning' && hasCopy));
}

/**
 * Returns the placements of which the child has an old copy from another replica, or from a store incarnation that is over. Such a copy must wait for a new
 * copy at this node too. A relay with copies gets the placement in either order of moves: without the placement, the nodes below the relay could not learn
 * about the move.
 */
function oldCopiesElsewhere(input: RecoveryInput): Placement[] {
  return [...input.placements.all()].filter((placement) => hasOldCopyElsewhere(input, placement));
}

export function hasOldCopyElsewhere(
  { name, child, moveStore, reported, history }: Omit<RecoveryInput, 'placements'>,
  placement: Placement,
): boolean {
  const { id, move } = placement;
  const isRelay = child?.role === 'relay' && history !== undefined;
  const isHeld = move?.order === 'MakeBeforeBreak' || (isRelay && move !== undefined);
  const isNew = isHeld && !placement.children.has(name) && !moveStore.row(id, name);
  const partial = isNew && !matches(placement, child) ? reported(id) : undefined;
  return partial !== undefined && !hasNoCopies(partial);
}

/**
 * Returns the placements whose copy was moved away after the backup of the store was made. A new copy may run elsewhere; if the agent got the copy in its
 * mailbox again, two copies would run.
 */
function removedSince({ name, child, moveStore, placements, reported }: RecoveryInput): Placement[] {
  return [...placements.all()].filter(
    (placement) =>
      placement.move?.order === 'BreakBeforeMake' &&
      placement.children.has(name) &&
      !moveStore.row(placement.id, name) &&
      matches(placement, child) &&
      !reported(placement.id),
  );
}

/** Returns whether the partial shows no copy of the placement, at its node or below. */
export function hasNoCopies({ counts, move }: Partial): boolean {
  return counts.expected === 0 && isOver(move);
}

export function matches(placement: Placement, child: Child | undefined): boolean {
  return child !== undefined && matchChild(placement, child).matches;
}
