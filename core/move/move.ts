/**
 * A move: the set of a placement's destinations changes, and `spec.move` gives the order in which new copies come and old copies go. This file has the states
 * of one destination at its parent, the last hop. They are pure transitions of one row, which the parent stores durably beside the mailbox.
 *
 *     MakeBeforeBreak   new: joined                        old: leaving ─(granted)→ breaking ─(its cluster has let go)→ no row
 *     BreakBeforeMake   new: joining ─(granted)→ no row    old: breaking ─(its cluster has let go)→ gone
 *
 * A destination that matches again while it breaks is returning. It gets its objects only after its cluster has let go of the old ones. So its next report is
 * about the new copy, and never about the old one.
 *
 * One side of a move is held until a grant, and the grant waits for the other side. move-part.ts decides about grants.
 */
import type { KubeObject } from '../object/meta.ts';

export type MoveStrategy = 'MakeBeforeBreak' | 'BreakBeforeMake' | 'None' | 'Auto';
export type MoveOrder = 'MakeBeforeBreak' | 'BreakBeforeMake';

export interface MoveSpec {
  readonly strategy?: MoveStrategy;
  readonly deadlineSeconds?: number;
}

/** The order of moves that is in effect for a placement. Without one, a destination that no longer matches loses its objects at once. */
export interface Move {
  readonly order: MoveOrder;
  readonly deadlineSeconds: number;
}

export type MoveState =
  /** Does not match any more, and keeps its objects until the grant. */
  | 'leaving'
  /** Got its objects during this move. Replaces a leaving copy as soon as it is available. */
  | 'joined'
  /** Matches, and gets nothing until the grant. */
  | 'joining'
  /** Its objects are being removed and may still be on its cluster. */
  | 'breaking'
  /** As `breaking`, and it matches again. */
  | 'returning'
  /** Its objects have left its cluster during this move. Makes room for a joining copy. */
  | 'gone';

/** The row of one placement and one agent. No row: the destination stays as it is, and is no part of a move. */
export interface MoveRow {
  readonly state: MoveState;
  /** When this state began: the deadline counts from here. */
  readonly sinceMs: number;
  /** The placement's generation when this state began. */
  readonly generation: number;
  readonly granted?: true;
  /** Only in `breaking` and `returning`: the number under which the agent is asked to report when it has let go. */
  readonly asked?: number;
}

/** The time and the placement's generation at this moment. */
export interface Moment {
  readonly nowMs: number;
  readonly generation: number;
}

export interface MoveDecision {
  readonly may: boolean;
  readonly row: MoveRow | undefined;
  /** The destination continues without a grant, because its deadline has passed. */
  readonly overdue?: true;
}

/** The facts for another look at a row. */
export interface MoveFacts extends Moment {
  readonly matches: boolean;
  /** For a joined destination: it is available, by its agent's report for the placement's present target. */
  readonly available: boolean;
  /** For a breaking destination: its agent has answered that it has let go, and reports nothing about the placement any more. */
  readonly letGo: boolean;
}

export interface Reviewed {
  readonly row: MoveRow | undefined;
  /** The caller has to decide again whether the placement may be attached or detached. */
  readonly ask: boolean;
  readonly overdue?: true;
}

export const deadlineDefaultSeconds = 600;

/** `carriesOnce`: the placement carries a volume that one node at a time may write (carries-once.ts). */
export function moveOf(spec: MoveSpec | undefined, carriesOnce: boolean): Move | undefined {
  const { strategy = 'Auto', deadlineSeconds = deadlineDefaultSeconds } = spec ?? { strategy: 'None' };
  if (strategy === 'None') return undefined;
  if (strategy !== 'Auto') return { order: strategy, deadlineSeconds };
  return { order: carriesOnce ? 'BreakBeforeMake' : 'MakeBeforeBreak', deadlineSeconds };
}

export function moveSpecOf(placement: KubeObject): MoveSpec | undefined {
  return (placement.spec as { move?: MoveSpec } | undefined)?.move;
}

/** The clock was set back since the row began. The row then begins now, so that nobody waits until the clock reaches the old time again. */
export function isAhead({ sinceMs }: MoveRow, nowMs: number): boolean {
  return sinceMs > nowMs;
}

export function dueMs(move: Move, row: MoveRow): number {
  return row.sinceMs + move.deadlineSeconds * 1000;
}

/** May an agent that matches and has nothing of the placement get it? */
export function mayJoin(move: Move | undefined, row: MoveRow | undefined, now: Moment): MoveDecision {
  if (!move) return { may: true, row: undefined };
  if (row?.state === 'breaking' || row?.state === 'returning')
    return { may: false, row: { ...row, state: 'returning' } };
  if (move.order === 'MakeBeforeBreak') return { may: true, row: begin('joined', now) };
  if (row?.state === 'joining') return row.granted ? { may: true, row: undefined } : { may: false, row };
  // The agent had the copy until a moment ago, and nobody was granted in its place. So the agent takes its own place.
  const isBack = row?.state === 'gone' && row.generation === now.generation;
  return isBack ? { may: true, row: undefined } : { may: false, row: begin('joining', now) };
}

/** May an agent that has the placement and does not match any more lose it? */
export function mayLeave(move: Move | undefined, row: MoveRow | undefined, now: Moment): MoveDecision {
  if (!move) return { may: true, row: undefined };
  if (move.order === 'BreakBeforeMake') return { may: true, row: begin('breaking', now) };
  if (row?.state !== 'leaving') return { may: false, row: begin('leaving', now) };
  if (row.granted) return { may: true, row: begin('breaking', now) };
  return now.nowMs >= dueMs(move, row)
    ? { may: true, row: begin('breaking', now), overdue: true }
    : { may: false, row };
}

/** Reviews a row after anything that concerns it has changed. */
export function review(move: Move | undefined, before: MoveRow, facts: MoveFacts): Reviewed {
  if (!move) return { row: undefined, ask: true };
  const row = isAhead(before, facts.nowMs) ? { ...before, sinceMs: facts.nowMs } : before;
  const isDue = facts.nowMs >= dueMs(move, row);
  switch (row.state) {
    case 'leaving':
      if (facts.matches) return changed(move.order === 'MakeBeforeBreak' ? begin('joined', facts) : undefined);
      return { row, ask: row.granted === true || isDue || move.order === 'BreakBeforeMake' };
    case 'joined': {
      const isSettled = row.generation !== facts.generation && facts.available;
      return changed(isSettled || isDue || move.order === 'BreakBeforeMake' ? undefined : row);
    }
    case 'joining':
      if (!facts.matches) return changed(undefined);
      if (move.order === 'MakeBeforeBreak') return { row: undefined, ask: true };
      if (!row.granted && isDue) return { row: { ...row, granted: true }, ask: true, overdue: true };
      return { row, ask: row.granted === true };
    case 'breaking':
      if (facts.letGo || isDue) return finishBreak(move, row, facts);
      return changed(row);
    case 'returning':
      if (facts.letGo || isDue) return { ...finishBreak(move, row, facts), ask: true };
      return changed(facts.matches ? row : { ...row, state: 'breaking' });
    case 'gone': {
      const isSpent = row.generation !== facts.generation || isDue || move.order === 'MakeBeforeBreak';
      return changed(isSpent ? undefined : row);
    }
  }
}

/** The cluster has let go, or nobody waits for it any longer. */
function finishBreak(move: Move, row: MoveRow, facts: MoveFacts): Reviewed {
  if (move.order === 'MakeBeforeBreak') return changed(undefined);
  const { state: _state, asked: _asked, ...rest } = row;
  const gone: MoveRow = { ...rest, state: 'gone', sinceMs: facts.nowMs };
  return facts.letGo ? changed(gone) : { row: gone, ask: false, overdue: true };
}

/** A grant applies to the rows as they were when the grant was decided. */
export function granted(move: Move, row: MoveRow): Reviewed {
  switch (row.state) {
    case 'leaving':
      return move.order === 'MakeBeforeBreak' ? { row: { ...row, granted: true }, ask: true } : { row, ask: false };
    case 'joining':
      return move.order === 'BreakBeforeMake' ? { row: { ...row, granted: true }, ask: true } : { row, ask: false };
    case 'joined':
    case 'gone':
      return changed(undefined);
    case 'breaking':
    case 'returning':
      return changed(row);
  }
}

function begin(state: MoveState, { nowMs, generation }: Moment): MoveRow {
  return { state, sinceMs: nowMs, generation };
}

function changed(row: MoveRow | undefined): Reviewed {
  return { row, ask: false };
}
