/**
 * What a node knows of a placement's move below it: a bounded, mergeable part of its partial. The lowest node that sees both sides of a move
 * decides: whatever is held there is granted when as many have made good for it, and nothing that should is still to come. What it can't pair goes up
 * in its own part, and the origin, above which there is nothing, grants all that is held when nothing is to come any more.
 *
 * A grant names the sequence of the part that it was decided on. A sequence grows with every change of the set of moving destinations below its
 * node and never comes twice, so a grant that comes late, after the set has changed, is for nobody. It is a sum: a node's own counter, and the
 * sequences that its children reported. So it merges with the rest, and a sum and the part beside it are always of one moment. It goes around at `sequences`,
 * which only lies of children bring it to: whoever compares two of them compares the shorter way.
 */
import * as z from 'zod';
import { countUpTo, cutCounts, destinationsMax } from '../object/bounded-counts.ts';
import { dueMs, type Move, type MoveOrder, type MoveRow } from './move.ts';

export interface MovePart {
  readonly order: MoveOrder;
  readonly sequence: number;
  /** Old destinations that still have their copy, or may have it. */
  readonly leaving: number;
  /** New destinations that do not have a copy that is available yet. */
  readonly joining: number;
  /** Those that have made good since the last grant: new ones that are available, or old ones that have let go. */
  readonly done: number;
  /** Destinations that stay and are available with what they were sent last, be it an older release. */
  readonly serving: number;
  /**
   * Old destinations that have been told to let go and have not said yet that they have, and subtrees that have not told of what the placement is now,
   * silent ones too. As long as there are any, the placement is not over below the node, whatever it matches.
   */
  readonly breaking: number;
  /** Subtrees that have not told of what the placement is now and may have copies. */
  readonly unheard: number;
  /** Those that went on without a grant at their deadline, since the placement has its present generation. */
  readonly overdue: number;
  /** When the first of those that are held goes on by itself: ms since 1970. */
  readonly untilMs?: number;
  /** A sample of at most `waitsForMax` paths: those that a grant waits for, the smallest. */
  readonly waitsFor: readonly string[];
}

/** Enough for a person to know where to look. */
export const waitsForMax = 3;
/** A grant has its sequence as the revision of its row, which has six bytes. */
export const sequences = 2 ** 48;

export function emptyMovePart(order: MoveOrder): MovePart {
  return {
    order,
    sequence: 0,
    leaving: 0,
    joining: 0,
    done: 0,
    serving: 0,
    breaking: 0,
    unheard: 0,
    overdue: 0,
    waitsFor: [],
  };
}

/** Associative and commutative for parts of one order; `contributed` sees to it that no others meet. */
export function mergeMoveParts(a: MovePart, b: MovePart): MovePart {
  const untilMs = Math.min(a.untilMs ?? Number.POSITIVE_INFINITY, b.untilMs ?? Number.POSITIVE_INFINITY);
  return {
    order: a.order,
    sequence: (a.sequence + b.sequence) % sequences,
    leaving: a.leaving + b.leaving,
    joining: a.joining + b.joining,
    done: a.done + b.done,
    serving: a.serving + b.serving,
    breaking: a.breaking + b.breaking,
    unheard: a.unheard + b.unheard,
    overdue: a.overdue + b.overdue,
    ...(Number.isFinite(untilMs) ? { untilMs } : {}),
    waitsFor:
      a.waitsFor.length + b.waitsFor.length === 0
        ? []
        : [...new Set([...a.waitsFor, ...b.waitsFor])].sort().slice(0, waitsForMax),
  };
}

/** By how much a sequence is ahead of another one; negative: behind it. */
export function aheadBy(sequence: number, other: number): number {
  const ahead = (sequence - other) % sequences;
  if (ahead > sequences / 2) return ahead - sequences;
  return ahead < -sequences / 2 ? ahead + sequences : ahead;
}

/** As its parent takes it. */
export function boundedMovePart(part: MovePart): MovePart {
  const { order, sequence, untilMs, waitsFor, ...counts } = part;
  return { ...part, ...cutCounts(counts) };
}

const count = countUpTo(destinationsMax);
export const movePartSchema = z.object({
  order: z.enum(['MakeBeforeBreak', 'BreakBeforeMake']),
  sequence: countUpTo(sequences - 1),
  leaving: count,
  joining: count,
  done: count,
  serving: count,
  breaking: count,
  unheard: count,
  overdue: count,
  untilMs: z.number().int().min(0).exactOptional(),
  waitsFor: z.array(z.string()).max(waitsForMax),
});

// ------------------------------------------------------------------------------------------------ contributions

/** An agent; `serves`: it is available with what it was sent last. */
export function agentPart(move: Move, row: MoveRow | undefined, serves: boolean, path: string): MovePart {
  const base = emptyMovePart(move.order);
  const serving = serves ? 1 : 0;
  if (!row) return { ...base, serving };
  const untilMs = dueMs(move, row);
  const isMaking = move.order === 'MakeBeforeBreak';
  switch (row.state) {
    case 'leaving':
      return { ...base, leaving: 1, untilMs };
    case 'joined':
      return serves ? { ...base, done: 1, serving } : { ...base, joining: 1, waitsFor: [path] };
    case 'joining':
      return { ...base, joining: 1, untilMs };
    case 'breaking':
      return isMaking ? { ...base, breaking: 1 } : { ...base, breaking: 1, leaving: 1, waitsFor: [path] };
    case 'returning':
      return { ...base, breaking: 1, ...(isMaking ? { joining: 1 } : { leaving: 1 }), waitsFor: [path] };
    case 'gone':
      return { ...base, done: 1 };
  }
}

/** How an agent counts in the summary: by what it reports, as one that has not reported yet, or, being old, not at all. */
export function countsAs(row: MoveRow | undefined): 'reported' | 'never' | 'nothing' {
  if (row === undefined || row.state === 'joined') return 'reported';
  return row.state === 'joining' || row.state === 'returning' ? 'never' : 'nothing';
}

export interface RelayView {
  readonly part: MovePart | undefined;
  /** The relay has reported of this placement at all … */
  readonly reported: boolean;
  /** … and for what the placement is now. */
  readonly current: boolean;
  readonly connected: boolean;
  /** By its last report there are copies below it. */
  readonly mayRun: boolean;
  readonly path: string;
}

/** A relay. What a silent or outdated one said of copies that are there holds on; what it said of copies that are available is not known now. */
export function relayPart(order: MoveOrder, view: RelayView): MovePart {
  const base = emptyMovePart(order);
  const { part, path } = view;
  const isOther = part !== undefined && part.order !== order;
  if (part && view.current && !isOther) return view.connected ? part : silent(part, path);
  const leaving = isOther ? 0 : (part?.leaving ?? 0);
  const known = { ...base, sequence: part?.sequence ?? 0, leaving, breaking: 1 };
  return isAwaited(order, view) ? { ...known, unheard: 1, waitsFor: [path] } : known;
}

function silent(part: MovePart, path: string): MovePart {
  if (part.order === 'BreakBeforeMake' || part.done === 0) return { ...part, serving: 0 };
  const waitsFor = [...part.waitsFor, path].sort().slice(0, waitsForMax);
  return { ...part, joining: part.joining + part.done, done: 0, serving: 0, waitsFor };
}

/**
 * MakeBeforeBreak waits for nobody who is silent: he keeps what he has. BreakBeforeMake does, if he may still run it. Who has never reported had
 * nothing when he got the placement, and gets nothing of it without a grant.
 */
function isAwaited(order: MoveOrder, view: RelayView): boolean {
  return order === 'MakeBeforeBreak' ? view.connected : view.reported && view.mayRun;
}

/** A subtree of which is not known what it runs: there may be an old copy, and a new one may not be. A grant of either order waits for it. */
export function unknownMovePart(order: MoveOrder, path: string): MovePart {
  const awaited = order === 'MakeBeforeBreak' ? { joining: 1 } : { leaving: 1 };
  return { ...emptyMovePart(order), ...awaited, waitsFor: [path] };
}

// ----------------------------------------------------------------------------------------------------- decisions

/** Destinations that are held until a grant. */
export function heldCopies(part: MovePart): number {
  return part.order === 'MakeBeforeBreak' ? part.leaving : part.joining;
}

/** Destinations that a grant waits for. */
export function awaitedOf(part: MovePart): number {
  return part.order === 'MakeBeforeBreak' ? part.joining : part.leaving;
}

/** `isOrigin`: the node has the placement itself, and what it sees is all there is. */
export function decidesToGrant(part: MovePart, isOrigin: boolean): boolean {
  const held = heldCopies(part);
  if (held === 0 || awaitedOf(part) > 0) return false;
  if (part.done >= held) return true;
  if (!isOrigin || part.unheard > 0) return false;
  return part.order === 'BreakBeforeMake' || part.serving > 0;
}

/** Nothing of a placement is left below a child that has no destination of it either. */
export function isOver(part: MovePart | undefined): boolean {
  return part === undefined || part.leaving + part.joining + part.breaking + part.unheard === 0;
}

/** Whether a child with this part is part of what was granted. */
export function isMoving(part: MovePart): boolean {
  return part.leaving + part.joining + part.done > 0;
}
