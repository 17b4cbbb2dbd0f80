/**
 * A move: the set of a placement's destinations changes, and `spec.move` gives the order in which new copies are created and old copies are removed. This file
 * has the states of one destination, as pure changes of one row. The destination's parent, the last hop, has the row in its store.
 *
 *     MakeBeforeBreak   new: joined                        old: leaving ─(granted)→ breaking ─(objects are gone)→ no row
 *     BreakBeforeMake   new: joining ─(granted)→ no row    old: breaking ─(objects are gone)→ gone
 *
 * If a destination matches again while it is breaking, it becomes returning. It gets its objects only after the old objects are gone from its cluster. So its
 * next report is about the new copy, and never about the old one.
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

/** The order of moves that is in effect for a placement. Without an order, a destination that no longer matches loses its objects immediately. */
export interface Move {
  readonly order: MoveOrder;
  readonly deadlineSeconds: number;
}

export type MoveState =
  /** The destination does not match any more, and keeps its objects until the grant. */
  | 'leaving'
  /** The destination got its objects during this move. It replaces a leaving copy as soon as it is available. */
  | 'joined'
  /** The destination matches, and gets nothing until the grant. */
  | 'joining'
  /** The destination's objects are being removed, and may still be on its cluster. */
  | 'breaking'
  /** Like `breaking`, but the destination matches again. */
  | 'returning'
  /** The destination's objects were removed from its cluster during this move. A joining copy can take its place. */
  | 'gone';

/** The row of one placement and one agent. If there is no row, the destination is no part of a move and stays as it is. */
export interface MoveRow {
  readonly state: MoveState;
  /** Time at which this state began. The deadline counts from this time. */
  readonly sinceMs: number;
  /** The placement's generation when this state began. */
  readonly generation: number;
  readonly granted?: true;
  /** Only in `breaking` and `returning`: the number of the question to the agent (`w/` entry). The agent answers when its objects are gone. */
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
  /** True: the destination continues without a grant, because its deadline has passed. */
  readonly overdue?: true;
}

/** The facts with which a row is reviewed. */
export interface MoveFacts extends Moment {
  readonly matches: boolean;
  /** For a joined destination: the agent's report for the placement's present target says that the copy is available. */
  readonly available: boolean;
  /** For a breaking destination: the agent has answered that its objects are gone, and reports nothing about the placement any more. */
  readonly letGo: boolean;
}

export interface Reviewed {
  readonly row: MoveRow | undefined;
  /** True: the caller has to decide again whether the agent may get or lose the placement (`mayJoin`, `mayLeave`). */
  readonly ask: boolean;
  readonly overdue?: true;
}

export const deadlineDefaultSeconds = 600;

/**
 * The move that `spec.move` asks for. A placement without `spec.move` has the strategy Auto, so that a change of its destinations leaves no gap. `carriesOnce`:
 * an object of the placement has a volume that only one node at a time may write (carries-once.ts).
 */
export function moveOf(spec: MoveSpec | undefined, carriesOnce: boolean): Move | undefined {
  const { strategy = 'Auto', deadlineSeconds = deadlineDefaultSeconds } = spec ?? {};
  if (strategy === 'None') return undefined;
  if (strategy !== 'Auto') return { order: strategy, deadlineSeconds };
  return { order: carriesOnce ? 'BreakBeforeMake' : 'MakeBeforeBreak', deadlineSeconds };
}

export function moveSpecOf(placement: KubeObject): MoveSpec | undefined {
  return (placement.spec as { move?: MoveSpec } | undefined)?.move;
}

/** True: the clock was set back since the row began. The caller then begins the row at the present time; otherwise the deadline would come too late. */
export function isAhead({ sinceMs }: MoveRow, nowMs: number): boolean {
  return sinceMs > nowMs;
}

export function dueMs(move: Move, row: MoveRow): number {
  return row.sinceMs + move.deadlineSeconds * 1000;
}

/** Decides whether an agent that matches and has nothing of the placement may get it. */
export function mayJoin(move: Move | undefined, row: MoveRow | undefined, now: Moment): MoveDecision {
  if (!move) return { may: true, row: undefined };
  if (row?.state === 'breaking' || row?.state === 'returning')
    return { may: false, row: { ...row, state: 'returning' } };
  if (move.order === 'MakeBeforeBreak') return { may: true, row: begin('joined', now) };
  if (row?.state === 'joining') return row.granted ? { may: true, row: undefined } : { may: false, row };
  // The agent had a copy until a moment ago, and no other agent was granted its place. So the agent may have its own place again.
  const isBack = row?.state === 'gone' && row.generation === now.generation;
  return isBack ? { may: true, row: undefined } : { may: false, row: begin('joining', now) };
}

/** Decides whether an agent that has the placement and does not match any more may lose it. */
export function mayLeave(move: Move | undefined, row: MoveRow | undefined, now: Moment): MoveDecision {
  if (!move) return { may: true, row: undefined };
  if (move.order === 'BreakBeforeMake') return { may: true, row: begin('breaking', now) };
  if (row?.state !== 'leaving') return { may: false, row: begin('leaving', now) };
  if (row.granted) return { may: true, row: begin('breaking', now) };
  return now.nowMs >= dueMs(move, row)
    ? { may: true, row: begin('breaking', now), overdue: true }
    : { may: false, row };
}

/** Returns the next row after a change of the facts or of the move. */
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

/** Ends `breaking`: the objects are gone from the cluster, or the deadline has passed. */
function finishBreak(move: Move, row: MoveRow, facts: MoveFacts): Reviewed {
  if (move.order === 'MakeBeforeBreak') return changed(undefined);
  const { state: _state, asked: _asked, ...rest } = row;
  const gone: MoveRow = { ...rest, state: 'gone', sinceMs: facts.nowMs };
  return facts.letGo ? changed(gone) : { row: gone, ask: false, overdue: true };
}

/** Returns the next row after a grant. The caller makes sure that the row is the same as when the grant was decided. */
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
