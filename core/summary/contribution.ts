/**
 * What one child adds to a placement's summary here: a pure function of what it reported, whether it is connected, and what the placement
 * is now. docs/architecture.md, "Summaries", has the rules; the sum over the children is the node's own partial.
 */
import { type DestinationCounts, emptyPartial, type Failure, type Partial, smallestFailures } from './partial.ts';

export interface ChildView {
  /** The child's latest partial of this placement, if any. */
  readonly reported?: Partial;
  readonly connected: boolean;
  /** How long the child has been silent; 0 while connected. */
  readonly silentMs: number;
  /** Destinations at or below the child by this node's own knowledge; undefined when it is only "maybe". */
  readonly expected: number | undefined;
  /** It has reported nothing here, and was attached to a sibling of this node: what it said there is not known. */
  readonly wasAttached?: boolean;
  /** Destinations of which nothing is known, since the child's entry is not what its key says (core/entries/up-check.ts); instead of `reported`. */
  readonly refused?: number;
  /** Of an agent: objects that this node could not make for it, so that it has an older form of them, or none. */
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

/** What an agent says of the target is of the objects that it was sent: those that it could not be sent are not part of it. */
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

/** Fresh destinations that have reported, but on an older target: nothing of their state is known for this one. */
function outdatedCounts(counts: DestinationCounts): Record<string, number> {
  const { expected, fresh, stale, never, quarantined } = counts;
  return { expected, fresh, stale, never, quarantined, outdated: fresh };
}

/** What a silent child last said is not known now: neither available nor failed. */
function staleCounts(counts: DestinationCounts): Record<string, number> {
  const { expected, fresh, stale, never, quarantined } = counts;
  return { expected, stale: stale + fresh, never, quarantined };
}

/** The placement selects anew: the child's own count is of the old selection, so this node's knowledge stands in, if it is exact. */
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
