/**
 * What the reports of a child mean for the rows of moves, once the child has reported everything. The child's history may belong to another replica of this
 * node, or to an incarnation of this node's store that is over: the store was lost or restored from an older copy, and knows less than the child, or
 * something else.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { isOver } from '../../core/move/move-part.ts';
import type { Partial } from '../../core/summary/partial.ts';
import { type Child, matchChild } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import type { MoveStore } from './move-store.ts';

/**
 * The history of a child's mailbox, where it does not belong to this store: the store was restored since the child received its mailbox (`restored`), or is
 * another store (`other`).
 */
export type History = 'restored' | 'other';

/**
 * Children with such a history that have not reported everything. Bound: one name for each child. A child stays here until it has reported everything; a
 * session that breaks is followed by another.
 */
export class PendingHistories {
  readonly #histories = new Map<string, History>();

  /**
   * A session may break before the reconciliation is complete. Then the child is between two histories, and its next session no longer shows that the store
   * was restored.
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
  /** Placements for which the agent is further in its move than its row. */
  readonly passed: PlacementId[];
  /** Placements that do not match the child, and of which the child has an old copy that has to stay. */
  readonly kept: Placement[];
  /** Placements that the child's mailbox has, and that the child has removed since. */
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
 * An agent that comes from another replica of this node may be further in its move there. If it was to wait for its copy (joining or returning) and has the
 * copy, or if it was to keep its copy (leaving) and has none left, then the move has gone on there, and this node does not undo that. If the agent can't come
 * from another replica, a missing copy is lost, and the agent gets it again.
 */
function hasPassed({ name, moveStore, reported, hasReplicas }: RecoveryInput, id: PlacementId): boolean {
  const row = moveStore.row(id, name);
  const hasCopy = reported(id) !== undefined;
  if (row?.granted) return false;
  if (row?.state === 'joining') return hasCopy;
  return hasReplicas && ((row?.state === 'leaving' && !hasCopy) || (row?.state === 'returning' && hasCopy));
}

/**
 * An old copy that the child got from another replica, or from a store incarnation that is over, waits for a new copy here as well. A relay with copies gets
 * the placement in either order of moves: without the placement, the nodes below the relay could not learn about the move.
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

/** The copy was moved away after the backup of the store was made, and a new copy may run elsewhere. The copy in the mailbox would be a second one. */
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

/** The partial shows no copy of the placement at its node or below. */
export function hasNoCopies({ counts, move }: Partial): boolean {
  return counts.expected === 0 && isOver(move);
}

export function matches(placement: Placement, child: Child | undefined): boolean {
  return child !== undefined && matchChild(placement, child).matches;
}
