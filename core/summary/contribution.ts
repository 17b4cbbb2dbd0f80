/**
 * What one child adds to a placement's summary at this node: a pure function of the child's report, of whether the child is connected, and of the placement's
 * present target. docs/architecture.md, "Summaries", has the rules. The sum over all children is the node's own partial.
 */
import { type DestinationCounts, emptyPartial, type Failure, type Partial, smallestFailures } from './partial.ts';

export interface ChildView {
  /** The child's latest partial of this placement, if there is one. */
  readonly reported?: Partial;
  readonly connected: boolean;
  /** How long the child has been disconnected; 0 while it is connected. */
  readonly silentMs: number;
  /** Destinations at or below the child, as far as this node knows; undefined when the node knows only "maybe". */
  readonly expected: number | undefined;
  /** The child has reported nothing here, and was attached to another replica of this node before. What it reported there is not known. */
  readonly wasAttached?: boolean;
  /**
   * Destinations whose state is unknown, because the child's entry does not have the form of its key (core/entries/up-check.ts). Used instead of `reported`.
   */
  readonly refused?: number;
  /** Only for an agent: objects that this node could not make for the agent. The agent has an older form of them, or none. */
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
 * An agent reports about the objects that it received. Objects that could not be made for the agent are not part of its report, so they are added here as
 * failed.
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
    const { refused: expected, connected, silentMs } = child;
    return connected
      ? counted(base, { expected, quarantined: expected })
      : aged(counted(base, { expected, stale: expected }), silentMs);
  }
  if (!reported) {
    const expected = child.expected ?? 0;
    return counted(
      base,
      child.wasAttached && !child.connected ? { expected, stale: expected } : { expected, never: expected },
    );
  }
  const current = reported.generation === wanted.generation && reported.target === wanted.target;
  const sameSelection = reported.generation === wanted.generation;
  const counts = current || sameSelection ? reported.counts : reselected(reported.counts, child.expected);
  if (!child.connected) return aged(counted(base, staleCounts(counts)), (reported.oldestAgeMs ?? 0) + child.silentMs);
  if (current) return { ...base, counts, failures: reported.failures, ...age(reported.oldestAgeMs) };
  return aged(counted(base, outdatedCounts(counts)), reported.oldestAgeMs);
}

/** Fresh destinations with a report for an older target: their state for the present target is unknown. */
function outdatedCounts(counts: DestinationCounts): Record<string, number> {
  const { expected, fresh, stale, never, quarantined } = counts;
  return { expected, fresh, stale, never, quarantined, outdated: fresh };
}

/** The last report of a disconnected child may be outdated: its destinations are neither available nor failed. */
function staleCounts(counts: DestinationCounts): Record<string, number> {
  const { expected, fresh, stale, never, quarantined } = counts;
  return { expected, stale: stale + fresh, never, quarantined };
}

/** The placement's selection has changed, and the child's count is for the old selection. This node's own count replaces it, if that is exact. */
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

function aged(partial: Partial, ageMs: number | undefined): Partial {
  return { ...partial, ...age(ageMs) };
}

function age(ageMs: number | undefined): { oldestAgeMs?: number } {
  return ageMs === undefined ? {} : { oldestAgeMs: ageMs };
}
