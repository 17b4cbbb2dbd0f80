/**
 * Computes the contribution of one child to a placement's summary at this node. It depends only on the child's report, on whether the child is connected, and
 * on the placement's present target. docs/architecture.md, "Summaries", has the rules. The sum over all children is the node's own partial.
 */
import { destinationsMax } from '../object/bounded-counts.ts';
import { type AwayPlace, longestAway } from './away.ts';
import {
  type DestinationCounts,
  earliest,
  emptyPartial,
  type Failure,
  type Partial,
  smallestFailures,
} from './partial.ts';

/** The node's knowledge about the connection of a child. */
export interface ChildConnection {
  readonly connected: boolean;
  /** Wall time in ms at which this node last heard the child. Absent: the child has never attached to this node. */
  readonly heardAtMs?: number | undefined;
}

export interface ChildView extends ChildConnection {
  /** The child's newest partial for this placement. Absent: there is none. */
  readonly reported?: Partial;
  /** Path of the child. */
  readonly path: string;
  /** Number of matching destinations at or below the child, as this node computes it. Undefined: the node does not know the exact number. */
  readonly expected: number | undefined;
  /** The child has reported nothing to this node, but was attached to another replica of this node. This node does not know the reports to that replica. */
  readonly wasAttached?: boolean;
  /**
   * Number of destinations whose state is unknown, because the child's entry is invalid and quarantined (core/entries/up-check.ts). Used instead of
   * `reported`.
   */
  readonly refused?: number;
  /** Only for an agent: objects that this node could not make for the agent. The agent has an older form of these objects, or does not have them. */
  readonly heldBack?: readonly Failure[];
}

export interface PlacementTarget {
  readonly generation: number;
  readonly target: number;
}

export function contribution(wanted: PlacementTarget, child: ChildView): Partial {
  const partial = reportedBy(wanted, child);
  const { heldBack = [], connected } = child;
  return connected && heldBack.length > 0 ? withHeldBack(partial, heldBack) : partial;
}

/**
 * Adds the objects that this node could not make for an agent, as failed. An agent reports only about objects that it has received, so these are not part of
 * its report.
 */
function withHeldBack(partial: Partial, heldBack: readonly Failure[]): Partial {
  const { fresh, outdated } = partial.counts;
  const counts = { synced: 0, applied: 0, available: 0, failed: fresh - outdated };
  return { ...counted(partial, counts), failures: smallestFailures(partial.failures, heldBack) };
}

function reportedBy(wanted: PlacementTarget, child: ChildView): Partial {
  const { reported } = child;
  const base = emptyPartial(wanted.generation, wanted.target);
  if (child.refused !== undefined) {
    const expected = child.refused;
    return child.connected
      ? counted(base, { expected, quarantined: expected })
      : withAway(counted(base, { expected, stale: expected }), child);
  }
  if (!reported) {
    const expected = child.expected ?? 0;
    const isStale = child.wasAttached && !child.connected;
    return withAway(counted(base, isStale ? { expected, stale: expected } : { expected, never: expected }), child);
  }
  const current = reported.generation === wanted.generation && reported.target === wanted.target;
  const sameSelection = reported.generation === wanted.generation;
  const counts = current || sameSelection ? reported.counts : reselected(reported.counts, child.expected);
  // After a change of the selection, the places of the report may not match any more. The next report has the others.
  const before = sameSelection ? reported.away : [];
  if (!child.connected) {
    const never = before.filter(({ reason }) => reason !== 'Away');
    return withAway(counted(base, staleCounts(counts)), child, reported.oldestSinceMs, never);
  }
  const known = { ...since(reported.oldestSinceMs), away: before };
  if (current) return { ...base, counts, failures: reported.failures, ...known };
  return { ...counted(base, outdatedCounts(counts)), ...known };
}

/**
 * Adds the child as a place that is not connected or has not reported. `below`: places below the child that the child itself has reported. A relay that is away
 * stands for its stale destinations, because nobody knows which of these are back meanwhile.
 */
function withAway(
  partial: Partial,
  child: ChildView,
  oldestBelowMs?: number,
  below: readonly AwayPlace[] = [],
): Partial {
  const { stale, never } = partial.counts;
  const destinations = stale > 0 ? stale : below.length > 0 ? 0 : never;
  if (destinations === 0) return { ...partial, ...since(oldestBelowMs), away: below };
  const { path, connected, heardAtMs, wasAttached } = child;
  const sinceMs = heardAtMs === undefined || connected ? undefined : heardAtMs - (heardAtMs % 1_000);
  const isNew = heardAtMs === undefined && !wasAttached && stale === 0;
  const reason = connected ? 'NotReported' : isNew ? 'NeverConnected' : 'Away';
  const place: AwayPlace = {
    path,
    destinations: Math.min(destinations, destinationsMax),
    reason,
    ...(sinceMs === undefined ? {} : { sinceMs }),
  };
  const oldestSinceMs = stale > 0 ? earliest(oldestBelowMs, sinceMs) : oldestBelowMs;
  return { ...partial, ...since(oldestSinceMs), away: longestAway([place], below) };
}

/** Counts of a report for an older target. The fresh destinations count as outdated, because their state for the present target is unknown. */
function outdatedCounts(counts: DestinationCounts): Record<string, number> {
  const { expected, fresh, stale, never, quarantined } = counts;
  return { expected, fresh, stale, never, quarantined, outdated: fresh };
}

/** Counts of a disconnected child. Its newest report may be outdated, so its destinations count as stale, and neither as available nor as failed. */
function staleCounts(counts: DestinationCounts): Record<string, number> {
  const { expected, fresh, stale, never, quarantined } = counts;
  return { expected, stale: stale + fresh, never, quarantined };
}

/** Counts for a report from before a change of the selection. `expected` of the report is for the old selection; this node's own exact number replaces it. */
function reselected(counts: DestinationCounts, expected: number | undefined): DestinationCounts {
  if (expected === undefined) return counts;
  const fresh = Math.min(counts.fresh, expected);
  const stale = Math.min(counts.stale, expected - fresh);
  const quarantined = Math.min(counts.quarantined, expected - fresh - stale);
  return { ...counts, expected, fresh, stale, quarantined, never: expected - fresh - stale - quarantined };
}

function counted(base: Partial, counts: Record<string, number>): Partial {
  return { ...base, counts: { ...base.counts, ...counts } };
}

function since(oldestSinceMs: number | undefined): { oldestSinceMs?: number } {
  return oldestSinceMs === undefined ? {} : { oldestSinceMs };
}
