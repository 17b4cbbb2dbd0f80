/**
 * A move: the set of a placement's destinations changes, and `spec.move` says in which order old and new copies go and come. Here is what one
 * destination goes through at its parent, the last hop: pure transitions of one row, which the parent keeps durably beside the mailbox.
 *
 *     MakeBeforeBreak   new: joined                        old: leaving ─(granted)→ breaking ─(its cluster has let go)→ no row
 *     BreakBeforeMake   new: joining ─(granted)→ no row    old: breaking ─(its cluster has let go)→ gone
 *
 * One that matches again while it breaks is returning: it gets its objects when its cluster has let go of what it had. So what it reports then is of the
 * new copy, and never of the old one.
 *
 * One side of a move is held until it is granted, the other side is what the grant waits for: see move-part.ts, which decides.
 */
import type { KubeObject } from '../object/meta.ts';

export type MoveStrategy = 'MakeBeforeBreak' | 'BreakBeforeMake' | 'None' | 'Auto';
export type MoveOrder = 'MakeBeforeBreak' | 'BreakBeforeMake';

export interface MoveSpec {
  readonly strategy?: MoveStrategy;
  readonly deadlineSeconds?: number;
}

/** What a placement says in effect. Where there is none, what goes out of scope goes at once. */
export interface Move {
  readonly order: MoveOrder;
  readonly deadlineSeconds: number;
}

export type MoveState =
  /** Matches no more and keeps its objects until it is granted. */
  | 'leaving'
  /** Has its objects since this move began; makes good for one that leaves as soon as it is available. */
  | 'joined'
  /** Matches and gets nothing until it is granted. */
  | 'joining'
  /** Its objects are taken away and may still be on its cluster. */
  | 'breaking'
  /** The same, and it matches again. */
  | 'returning'
  /** They have gone from its cluster since this move began: makes good for one that joins. */
  | 'gone';

/** Of one placement and one agent. No row: it is where it is, and no part of a move. */
export interface MoveRow {
  readonly state: MoveState;
  /** When this state began: the deadline counts from here. */
  readonly sinceMs: number;
  /** Of the placement, when this state began. */
  readonly generation: number;
  readonly granted?: true;
  /** Of one that is breaking or returning: the number under which its agent is asked to tell when it has let go. */
  readonly asked?: number;
}

/** The time, and the placement as it is now. */
export interface Now {
  readonly nowMs: number;
  readonly generation: number;
}

export interface MoveDecision {
  readonly may: boolean;
  readonly row: MoveRow | undefined;
  /** It goes on without a grant, because its deadline has passed. */
  readonly overdue?: true;
}

/** What a row is looked at again with. */
export interface MoveFacts extends Now {
  readonly matches: boolean;
  /** Of one that has joined: it is available, by its agent's report for what the placement is now. */
  readonly available: boolean;
  /** Of one that breaks: its agent has said so, and tells of the placement no more. */
  readonly letGo: boolean;
}

export interface Reviewed {
  readonly row: MoveRow | undefined;
  /** What may be attached or detached is to be asked anew. */
  readonly ask: boolean;
  readonly overdue?: true;
}

export const deadlineDefaultSeconds = 600;

/** `carriesOnce`: the placement carries a volume that one node at a time may write; see carries-once.ts. */
export function moveOf(spec: MoveSpec | undefined, carriesOnce: boolean): Move | undefined {
  const { strategy = 'Auto', deadlineSeconds = deadlineDefaultSeconds } = spec ?? { strategy: 'None' };
  if (strategy === 'None') return undefined;
  if (strategy !== 'Auto') return { order: strategy, deadlineSeconds };
  return { order: carriesOnce ? 'BreakBeforeMake' : 'MakeBeforeBreak', deadlineSeconds };
}

export function moveSpecOf(placement: KubeObject): MoveSpec | undefined {
  return (placement.spec as { move?: MoveSpec } | undefined)?.move;
}

/** The clock was set back since: what began ahead of it begins now, so that nobody waits for an hour to come again. */
export function isAhead({ sinceMs }: MoveRow, nowMs: number): boolean {
  return sinceMs > nowMs;
}

export function dueMs(move: Move, row: MoveRow): number {
  return row.sinceMs + move.deadlineSeconds * 1000;
}

/** An agent that matches and has nothing of the placement: may it have it? */
export function mayJoin(move: Move | undefined, row: MoveRow | undefined, now: Now): MoveDecision {
  if (!move) return { may: true, row: undefined };
  if (row?.state === 'breaking' || row?.state === 'returning')
    return { may: false, row: { ...row, state: 'returning' } };
  if (move.order === 'MakeBeforeBreak') return { may: true, row: begin('joined', now) };
  if (row?.state === 'joining') return row.granted ? { may: true, row: undefined } : { may: false, row };
  // It had the copy a moment ago and nobody was granted in its place: it pays for itself.
  const isBack = row?.state === 'gone' && row.generation === now.generation;
  return isBack ? { may: true, row: undefined } : { may: false, row: begin('joining', now) };
}

/** An agent that has the placement and does not match any more: may it lose it? */
export function mayLeave(move: Move | undefined, row: MoveRow | undefined, now: Now): MoveDecision {
  if (!move) return { may: true, row: undefined };
  if (move.order === 'BreakBeforeMake') return { may: true, row: begin('breaking', now) };
  if (row?.state !== 'leaving') return { may: false, row: begin('leaving', now) };
  if (row.granted) return { may: true, row: begin('breaking', now) };
  return now.nowMs >= dueMs(move, row)
    ? { may: true, row: begin('breaking', now), overdue: true }
    : { may: false, row };
}

/** A row again, after anything that concerns it has changed. */
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
      if (facts.letGo || isDue) return over(move, row, facts);
      return changed(row);
    case 'returning':
      if (facts.letGo || isDue) return { ...over(move, row, facts), ask: true };
      return changed(facts.matches ? row : { ...row, state: 'breaking' });
    case 'gone': {
      const isSpent = row.generation !== facts.generation || isDue || move.order === 'MakeBeforeBreak';
      return changed(isSpent ? undefined : row);
    }
  }
}

/** Its cluster has let go, or is waited for no longer. */
function over(move: Move, row: MoveRow, facts: MoveFacts): Reviewed {
  if (move.order === 'MakeBeforeBreak') return changed(undefined);
  const { state: _state, asked: _asked, ...rest } = row;
  const gone: MoveRow = { ...rest, state: 'gone', sinceMs: facts.nowMs };
  return facts.letGo ? changed(gone) : { row: gone, ask: false, overdue: true };
}

/** The grant is for the set of rows as it was decided on. */
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

function begin(state: MoveState, { nowMs, generation }: Now): MoveRow {
  return { state, sinceMs: nowMs, generation };
}

function changed(row: MoveRow | undefined): Reviewed {
  return { row, ask: false };
}
