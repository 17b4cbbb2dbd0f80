/**
 * The children of this node as the scheduler sees them. An agent has destinations with all their labels. A relay has a label summary of the Locations below
 * it.
 */

import type { DestinationFacts } from '../../core/customize/customizer.ts';
import type { ChildRole } from '../../core/entries/entry-kind.ts';
import type { LabelSummary } from '../../core/match/label-summary.ts';
import { compareMatches, exactly, type MatchChange, noChange, noLeaves } from '../../core/match/match-counts.ts';
import { failuresBelow, type Match, type MatchRule, matchSummary } from '../../core/match/summary-match.ts';
import { type Labels, matchesSelector } from '../../core/object/selector.ts';
import { compiledExpression } from '../placements/location-expression.ts';
import type { Placement } from '../placements/placement.ts';

/** One Location with a SyncTarget of the child that it selects. */
export interface Destination {
  readonly location: string;
  /** For an inventory space: the space and the SyncTarget. Absent for the system space, where the SyncTarget has the agent's name. */
  readonly origin?: string;
  /** `spec.unschedulable` of the SyncTarget: at this destination, the agent keeps the placements that it has as long as they match, and gets no others. */
  readonly cordoned?: boolean;
  readonly syncTargetUid: string;
  /** The inherited labels, overridden by the Location's own labels. */
  readonly labels: Labels;
  /** `spec.properties` of the SyncTarget. */
  readonly properties?: Labels;
  readonly targetLabels?: Labels;
  /** A hash that changes with everything else in the Location and the SyncTarget that an expression may read. */
  readonly rest?: string;
  /** The facts that customization may read. */
  readonly facts: DestinationFacts;
  /** Returns whether the expression is true for this destination. */
  readonly evaluate: (expression: string) => boolean;
  /** Returns why the expression can't be evaluated for this destination; undefined if it can. */
  readonly failureOf?: (expression: string) => string | undefined;
}

export interface Child {
  readonly name: string;
  readonly role: ChildRole;
  /** The destinations of an agent. Empty until an inventory names the agent. A SyncTarget has no destinations from its `spec.evictAfter` on. */
  readonly destinations: readonly Destination[];
  /** For a relay: whether this replica itself has reported its labels. `labels` may come from another replica. */
  readonly hasReportedLabels?: boolean;
  /** For a relay. Undefined until the relay or another of its replicas has reported; until then, this node removes nothing. */
  readonly labels?: LabelSummary;
  /** For a relay: the Locations of `labels` that the relay counts itself. Absent if it counts all of them. */
  readonly counted?: LabelSummary;
}

/**
 * Returns whether a placement may reach a destination at or below the child, and the number of destinations that it reaches. The number is exact for agents,
 * and for relays while the summary is exact; otherwise it is undefined. A relay that has not reported yet matches nothing, because it has reported no
 * destination.
 */
export function matchChild(placement: Placement, child: Child): Match {
  if (child.role === 'agent') {
    const isAttached = placement.children.has(child.name);
    const candidates = isAttached ? child.destinations : child.destinations.filter(({ cordoned }) => cordoned !== true);
    const matches = candidates.some((destination) => matchesDestination(placement, destination));
    return { matches, expected: matches ? 1 : 0 };
  }
  if (!child.labels) return { matches: false, expected: 0 };
  const match = matchSummary(ruleOf(placement), child.labels);
  if (!child.counted) return match;
  return { matches: match.matches, expected: matchSummary(ruleOf(placement), child.counted).expected };
}

/**
 * Returns how the numbers of destinations at or below the child would change if the placement became `next`. Undefined: the child is a relay that has not
 * reported its Locations yet, so nothing is known. `present` is absent if there is no such placement yet.
 */
export function compareAtChild(present: Placement | undefined, next: Placement, child: Child): MatchChange | undefined {
  if (child.role === 'relay') {
    const labels = child.counted ?? child.labels;
    return labels && compareMatches(present && ruleOf(present), ruleOf(next), labels);
  }
  const one = (holds: boolean) => (holds ? exactly(1) : noLeaves);
  const had = present !== undefined && matchChild(present, child).matches;
  const gets = matchChild({ ...next, children: present?.children ?? next.children }, child).matches;
  if (!had && !gets) return noChange;
  return { present: one(had), next: one(gets), joining: one(gets && !had), leaving: one(had && !gets) };
}

/**
 * Returns the number of destinations at or below the child that the placement would select if its expression did not fail there. Destinations at which the
 * expression might not fail do not count.
 */
export function failingAt(placement: Placement, child: Child): { leaves: number; message?: string } {
  const { locationExpression: expression } = placement;
  if (expression === undefined) return { leaves: 0 };
  const labels = child.counted ?? child.labels;
  if (child.role === 'relay') return labels ? failuresBelow(ruleOf(placement), labels) : { leaves: 0 };
  const selected = child.destinations.filter((one) => isSelected(placement, one));
  if (selected.some((one) => one.evaluate(expression))) return { leaves: 0 };
  const message = selected.map((one) => one.failureOf?.(expression)).find((one) => one !== undefined);
  return message === undefined ? { leaves: 0 } : { leaves: 1, message };
}

function ruleOf(placement: Placement): MatchRule {
  const { locationExpression } = placement;
  const expression = locationExpression === undefined ? {} : { expression: compiledExpression(locationExpression) };
  return { selectors: selectorsOf(placement), ...expression };
}

/** For an agent: returns the destinations through which the placement reaches it. */
export function matchingDestinations(placement: Placement, child: Child): Destination[] {
  return child.destinations.filter((destination) => matchesDestination(placement, destination));
}

/**
 * For an agent: returns the destination for which the node customizes an object. An agent with several Locations gets an object once, for the first Location by
 * name through which one of the placements reaches it.
 */
export function destinationFor(child: Child, placements: readonly Placement[]): Destination | undefined {
  if (child.destinations.length < 2) return child.destinations[0];
  const matching = child.destinations.filter((one) =>
    placements.some((placement) => matchesDestination(placement, one)),
  );
  return [...matching].sort((a, b) => (destinationNameOf(a) < destinationNameOf(b) ? -1 : 1))[0];
}

/**
 * Returns a name that is unique among the destinations of one agent. Two inventories may have a Location of the same name, and a Location may select two
 * SyncTargets of the agent.
 */
export function destinationNameOf({ location, origin }: Destination): string {
  return origin === undefined ? location : `${location} ${origin}`;
}

function matchesDestination(placement: Placement, destination: Destination): boolean {
  if (!isSelected(placement, destination)) return false;
  return placement.locationExpression === undefined || destination.evaluate(placement.locationExpression);
}

function isSelected(placement: Placement, destination: Destination): boolean {
  return selectorsOf(placement).some((selector) => matchesSelector(selector, destination.labels));
}

function selectorsOf(placement: Placement) {
  const { locationSelectors, locationExpression } = placement;
  return locationSelectors.length === 0 && locationExpression !== undefined ? [{}] : locationSelectors;
}
