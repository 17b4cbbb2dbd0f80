/**
 * What a node knows about a placement's move below it: a bounded part of its partial, which merges.
 *
 * The lowest node that sees both sides of a move decides. The node grants all copies that it holds when as many other copies are ready for them and no
 * awaited copy is still missing. What the node can't pair goes up in the node's own part. There is nothing above the origin, so the origin grants everything
 * held when no awaited copy is missing.
 *
 * A grant names the sequence of the part that it was decided on. The sequence changes with every change of the set of moving destinations below the node, and
 * no value comes twice. So a grant that arrives late, after the set has changed, applies to nobody. The sequence is a sum: the node's own counter and the
 * sequences that its children reported. So it merges as the counts do, and a sequence and the counts beside it are always from one moment. The sequence wraps
 * around at `sequences`. Only false reports of children can bring it there; a comparison of two sequences takes the shorter way around.
 */
import * as z from 'zod';
import { countUpTo, cutCounts, destinationsMax } from '../object/bounded-counts.ts';
import { dueMs, type Move, type MoveOrder, type MoveRow } from './move.ts';

export interface MovePart {
  readonly order: MoveOrder;
  readonly sequence: number;
  /** Old destinations that have their copy, or may have it. */
  readonly leaving: number;
  /** New destinations that have no available copy yet. */
  readonly joining: number;
  /** Destinations that are ready since the last grant: new ones that are available, or old ones that have let go. */
  readonly done: number;
  /** Destinations that stay, and are available with what was last sent to them, even if that is an older release. */
  readonly serving: number;
  /**
   * Old destinations that were asked to let go and have not confirmed it, and subtrees that have not reported for the placement's present target,
   * disconnected ones too. While there are any, the placement is not over below the node, whatever it matches.
   */
  readonly breaking: number;
  /** Subtrees that have not reported for the placement's present target and may have copies. */
  readonly unknown: number;
  /** Destinations that continued without a grant at their deadline, since the placement has its present generation. */
  readonly overdue: number;
  /** When the first held destination continues by itself: ms since 1970. */
  readonly untilMs?: number;
  /** A sample of the paths that a grant waits for: the smallest, at most `waitsForMax`. */
  readonly waitsFor: readonly string[];
}

/** Enough for a person to know where to look. */
export const waitsForMax = 3;
/** The sequence of a grant is the revision of its row, which has six bytes. */
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
    unknown: 0,
    overdue: 0,
    waitsFor: [],
  };
}

/** Associative and commutative for parts of one order. `relayPart` makes sure that parts of different orders never meet. */
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
    unknown: a.unknown + b.unknown,
    overdue: a.overdue + b.overdue,
    ...(Number.isFinite(untilMs) ? { untilMs } : {}),
    waitsFor:
      a.waitsFor.length + b.waitsFor.length === 0
        ? []
        : [...new Set([...a.waitsFor, ...b.waitsFor])].sort().slice(0, waitsForMax),
  };
}

/** By how much `sequence` is ahead of `other`; negative: behind. */
export function aheadBy(sequence: number, other: number): number {
  const ahead = (sequence - other) % sequences;
  if (ahead > sequences / 2) return ahead - sequences;
  return ahead < -sequences / 2 ? ahead + sequences : ahead;
}

/** The part with counts that a parent accepts. */
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
  unknown: count,
  overdue: count,
  untilMs: z.number().int().min(0).exactOptional(),
  waitsFor: z.array(z.string()).max(waitsForMax),
});

// ------------------------------------------------------------------------------------------------ contributions

/** The part of an agent. `serves`: the agent is available with what was last sent to it. */
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

/** How an agent counts in the summary: by its report, as a destination that has not reported yet, or, as an old destination, not at all. */
export function countsAs(row: MoveRow | undefined): 'reported' | 'never' | 'nothing' {
  if (row === undefined || row.state === 'joined') return 'reported';
  return row.state === 'joining' || row.state === 'returning' ? 'never' : 'nothing';
}

export interface RelayView {
  readonly part: MovePart | undefined;
  /** The relay has reported about this placement at all. */
  readonly reported: boolean;
  /** The relay's report is for the placement's present target. */
  readonly current: boolean;
  readonly connected: boolean;
  /** By the relay's last report, there are copies below it. */
  readonly mayRun: boolean;
  readonly path: string;
}

/**
 * The part of a relay. The report of a relay that is disconnected or outdated still counts for copies that exist. It does not count for copies that are
 * available.
 */
export function relayPart(order: MoveOrder, view: RelayView): MovePart {
  const base = emptyMovePart(order);
  const { part, path } = view;
  const isOther = part !== undefined && part.order !== order;
  if (part && view.current && !isOther) return view.connected ? part : silent(part, path);
  const leaving = isOther ? 0 : (part?.leaving ?? 0);
  const notCurrent = { ...base, sequence: part?.sequence ?? 0, leaving, breaking: 1 };
  return isAwaited(order, view) ? { ...notCurrent, unknown: 1, waitsFor: [path] } : notCurrent;
}

function silent(part: MovePart, path: string): MovePart {
  if (part.order === 'BreakBeforeMake' || part.done === 0) return { ...part, serving: 0 };
  const waitsFor = [...part.waitsFor, path].sort().slice(0, waitsForMax);
  return { ...part, joining: part.joining + part.done, done: 0, serving: 0, waitsFor };
}

/**
 * Whether the move waits for a relay without a current report. MakeBeforeBreak does not wait for a disconnected relay: its destinations keep what they have.
 * BreakBeforeMake waits for a relay that may still run an old copy. A relay that has never reported had nothing when it got the placement, and gets nothing
 * of it without a grant.
 */
function isAwaited(order: MoveOrder, view: RelayView): boolean {
  return order === 'MakeBeforeBreak' ? view.connected : view.reported && view.mayRun;
}

/** The part of a subtree whose copies are unknown: an old copy may be there, and a new one may be missing. A grant of either order waits for the subtree. */
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

/** `isOrigin`: the node has the placement itself, and sees all destinations. */
export function decidesToGrant(part: MovePart, isOrigin: boolean): boolean {
  const held = heldCopies(part);
  if (held === 0 || awaitedOf(part) > 0) return false;
  if (part.done >= held) return true;
  if (!isOrigin || part.unknown > 0) return false;
  return part.order === 'BreakBeforeMake' || part.serving > 0;
}

/** Nothing of the placement is left below a child that has no destination of the placement either. */
export function isOver(part: MovePart | undefined): boolean {
  return part === undefined || part.leaving + part.joining + part.breaking + part.unknown === 0;
}

/** Whether a child with this part takes part in the grant. */
export function isMoving(part: MovePart): boolean {
  return part.leaving + part.joining + part.done > 0;
}
