/**
 * What is made of moves once all that an agent has to say is known. What it tells of may be of another node, or of a life of this node's store that is over: the
 * store was lost or put back to an older copy, and says less than the agent does, or other things.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { isOver } from '../../core/move/move-part.ts';
import type { Partial } from '../../core/summary/partial.ts';
import { type Child, matchChild } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import type { MoveStore } from './move-store.ts';

/** Of an agent's mailbox, where it is not this store's: the store was put back since the agent heard it, or is another one. */
export type History = 'putBack' | 'other';

/** Agents that came with such a mailbox and have not been heard. One name each; they wait for that, so a session that breaks is followed by another. */
export class Others {
  readonly #histories = new Map<string, History>();

  /** A session that breaks before all is reconciled leaves an agent between two histories, which shows no more that the store was put back. */
  note(name: string, wasPutBack: boolean): void {
    if (wasPutBack) this.#histories.set(name, 'putBack');
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
  /** Of which the agent is further in its move than its row. */
  readonly passed: PlacementId[];
  /** That do not name it, and of which it has an old copy to keep. */
  readonly kept: Placement[];
  /** That its mailbox has, and of which it has let go since. */
  readonly undone: Placement[];
}

export function recoverRows(heard: RecoveryInput): RecoveredRows {
  const { name, moveStore, hasReplicas, history } = heard;
  return {
    passed: [...moveStore.placementsOf(name)].filter((id) => hasPassed(heard, id)),
    kept: hasReplicas || history ? oldCopiesElsewhere(heard) : [],
    undone: history === 'putBack' ? letGoSince(heard) : [],
  };
}

/**
 * Where it comes from a sibling of this node, the move may be further there: it has what it was to wait for, be it for the first time or again, or has nothing
 * left of what it was to keep, and that is not taken back. Where it can't, what it does not have it has lost, and gets again.
 */
function hasPassed({ name, moveStore, reported, hasReplicas }: RecoveryInput, id: PlacementId): boolean {
  const row = moveStore.row(id, name);
  const has = reported(id) !== undefined;
  if (row?.granted) return false;
  if (row?.state === 'joining') return has;
  return hasReplicas && ((row?.state === 'leaving' && !has) || (row?.state === 'returning' && has));
}

/**
 * An old copy that is there by a sibling of this node, or by a life of its store that is over, waits for a new one here as well. A relay that has one in any order
 * is to hear of the move, which a node below it would not of a placement that is gone.
 */
function oldCopiesElsewhere(heard: RecoveryInput): Placement[] {
  return [...heard.placements.all()].filter((placement) => hasOldCopyElsewhere(heard, placement));
}

export function hasOldCopyElsewhere(
  { name, child, moveStore, reported, history }: Omit<RecoveryInput, 'placements'>,
  placement: Placement,
): boolean {
  const { id, move } = placement;
  const isRelay = child?.role === 'relay' && history !== undefined;
  const isHeld = move?.order === 'MakeBeforeBreak' || (isRelay && move !== undefined);
  const isNew = isHeld && !placement.children.has(name) && !moveStore.row(id, name);
  const told = isNew && !matches(placement, child) ? reported(id) : undefined;
  return told !== undefined && !hasNoCopies(told);
}

/** It was moved away after the copy of the store was made, and a new copy may run elsewhere: what the mailbox has of it would be a second one. */
function letGoSince({ name, child, moveStore, placements, reported }: RecoveryInput): Placement[] {
  return [...placements.all()].filter(
    (placement) =>
      placement.move?.order === 'BreakBeforeMake' &&
      placement.children.has(name) &&
      !moveStore.row(placement.id, name) &&
      matches(placement, child) &&
      !reported(placement.id),
  );
}

/** Nothing of the placement is at or below whoever told this. */
export function hasNoCopies({ counts, move }: Partial): boolean {
  return counts.expected === 0 && isOver(move);
}

export function matches(placement: Placement, child: Child | undefined): boolean {
  return child !== undefined && matchChild(placement, child).matches;
}
