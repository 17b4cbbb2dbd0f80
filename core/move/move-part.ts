/**
 * A node's report about a placement's move below the node. It is a part of the node's partial, has a bounded size, and merges.
 *
 * The lowest node that sees both sides of a move decides. It grants all held copies when at least as many other copies are ready and no awaited copy is
 * missing. If it cannot decide, it reports its counts in its own part, and a node above decides. Nothing is above the origin, so the origin grants all held
 * copies when no awaited copy is missing.
 *
 * A grant names the sequence of the part from which it was decided. The sequence changes with each change of the set of moving destinations below the node,
 * and no value is used twice. So if a grant arrives after the set has changed, it has no effect. The sequence is the sum of the node's own counter and of the
 * sequences that its children reported. So it merges like the counts, and always fits the counts in the same part. The sequence begins again at 0 after
 * `sequences`; only wrong reports of children can make it so large. A comparison of two sequences uses the smaller distance.
 */
import * as z from 'zod';
import { countUpTo, cutCounts, destinationsMax } from '../object/bounded-counts.ts';
import { dueMs, type Move, type MoveOrder, type MoveRow } from './move.ts';

export interface MovePart {
  readonly order: MoveOrder;
  readonly sequence: number;
  /** Number of old destinations that have their copy, or may have it. */
  readonly leaving: number;
  /** Number of new destinations that have no available copy yet. */
  readonly joining: number;
  /** Number of destinations that became ready since the last grant: new ones that are available, or old ones that have removed their copy. */
  readonly done: number;
  /** Number of destinations that have the placement and are available, with the present contents of its objects or with older ones. */
  readonly serving: number;
  /**
   * Number of old destinations that were asked to remove their copy and have not confirmed it, plus the number of subtrees, connected or not, that have not
   * reported for the placement's present selection. As long as there are any, the move is not over below the node, even if no destination matches.
   */
  readonly breaking: number;
  /** Number of subtrees that have not reported for the placement's present selection and may have copies. The move waits for them. */
  readonly unknown: number;
  /** Number of destinations that continued without a grant at their deadline. Counted since the placement has its present generation. */
  readonly overdue: number;
  /** Time at which the first held destination continues without a grant: ms since 1970. */
  readonly untilMs?: number;
  /** Some of the paths that a grant waits for: the first ones in the order of text, at most `waitsForMax`. */
  readonly waitsFor: readonly string[];
}

/** Number of paths in a sample: enough for a person to know where to look. */
export const waitsForMax = 3;
/** Number of different sequences. The sequence of a grant is also the revision of its row, which has six bytes. */
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

/** Merges two parts of the same order; the order of merging does not matter. `relayPart` makes sure that parts of different orders are never merged. */
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

/** The distance from `other` to `sequence`. Positive: `sequence` is ahead. Negative: it is behind. */
export function aheadBy(sequence: number, other: number): number {
  const ahead = (sequence - other) % sequences;
  if (ahead > sequences / 2) return ahead - sequences;
  return ahead < -sequences / 2 ? ahead + sequences : ahead;
}

/** The part with counts cut to the largest number that a parent accepts. */
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

/** The part of an agent. `serves`: the agent is available with objects of the present selection, perhaps with older contents. */
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

/**
 * How an agent counts in the summary. `reported`: with its report. `never`: as a destination that has not reported yet. `nothing`: not at all, because it is an
 * old destination.
 */
export function countsAs(row: MoveRow | undefined): 'reported' | 'never' | 'nothing' {
  if (row === undefined || row.state === 'joined') return 'reported';
  return row.state === 'joining' || row.state === 'returning' ? 'never' : 'nothing';
}

export interface RelayView {
  readonly part: MovePart | undefined;
  /** The relay has ever reported about this placement. */
  readonly reported: boolean;
  /**
   * The relay's report is for the placement's present selection. The report may be about older contents of the selected objects: copies do not come or go with
   * the contents.
   */
  readonly isOfSelection: boolean;
  readonly connected: boolean;
  /** The relay's newest report shows copies below the relay. */
  readonly mayRun: boolean;
  readonly path: string;
}

/**
 * The part of a relay. If the relay is disconnected or its report is for another selection, then the copies in the report still count as existing, but not as available.
 */
export function relayPart(order: MoveOrder, view: RelayView): MovePart {
  const base = emptyMovePart(order);
  const { part, path } = view;
  const isOther = part !== undefined && part.order !== order;
  if (part && view.isOfSelection && !isOther) return view.connected ? part : silent(part, path);
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
 * Whether the move waits for a relay without a report for the present selection. MakeBeforeBreak does not wait for a disconnected relay, because its destinations keep their
 * copies. BreakBeforeMake waits for a relay that may still run an old copy. It does not wait for a relay that has never reported: this relay had no copy when
 * it got the placement, and creates none without a grant.
 */
function isAwaited(order: MoveOrder, view: RelayView): boolean {
  return order === 'MakeBeforeBreak' ? view.connected : view.reported && view.mayRun;
}

/** The part of a subtree whose copies are unknown: an old copy may be there, and a new copy may be missing. In both orders, a grant waits for the subtree. */
export function unknownMovePart(order: MoveOrder, path: string): MovePart {
  const awaited = order === 'MakeBeforeBreak' ? { joining: 1 } : { leaving: 1 };
  return { ...emptyMovePart(order), ...awaited, waitsFor: [path] };
}

// ----------------------------------------------------------------------------------------------------- decisions

/** Number of destinations that are held until a grant. */
export function heldCopies(part: MovePart): number {
  return part.order === 'MakeBeforeBreak' ? part.leaving : part.joining;
}

/** Number of destinations that a grant waits for. */
export function awaitedOf(part: MovePart): number {
  return part.order === 'MakeBeforeBreak' ? part.joining : part.leaving;
}

/** Whether the node grants the move with this part. `isOrigin`: the placement is in a space of the node, so the node sees all destinations. */
export function decidesToGrant(part: MovePart, isOrigin: boolean): boolean {
  const held = heldCopies(part);
  if (held === 0 || awaitedOf(part) > 0) return false;
  if (part.done >= held) return true;
  if (!isOrigin || part.unknown > 0) return false;
  return part.order === 'BreakBeforeMake' || part.serving > 0;
}

/** True: nothing of the move is left below the child. If the child also has no destination of the placement, then it has nothing of the placement. */
export function isOver(part: MovePart | undefined): boolean {
  return part === undefined || part.leaving + part.joining + part.breaking + part.unknown === 0;
}

/** Whether a grant concerns a child with this part. */
export function isMoving(part: MovePart): boolean {
  return part.leaving + part.joining + part.done > 0;
}
