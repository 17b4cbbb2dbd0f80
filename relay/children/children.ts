/**
 * The children of this node as the scheduler sees them: who they are, and where in the inventory they stand. An agent is a
 * destination known with all its labels; a relay is a label summary of what lies below it.
 */

import type { DestinationFacts } from '../../core/customize/customizer.ts';
import type { ChildRole } from '../../core/entries/entry-kind.ts';
import type { LabelSummary } from '../../core/match/label-summary.ts';
import { failuresBelow, type Match, type MatchRule, matchSummary } from '../../core/match/summary-match.ts';
import { type Labels, matchesSelector } from '../../core/object/selector.ts';
import { compiledExpression } from '../placements/location-expression.ts';
import type { Placement } from '../placements/placement.ts';

/** One Location with a SyncTarget of the child that it selects. */
export interface Destination {
  readonly location: string;
  /** Of an inventory space: the space and the SyncTarget. Absent: of the system space, where the SyncTarget has the agent's name. */
  readonly origin?: string;
  /** `spec.unschedulable` of its SyncTarget: through it the agent keeps the placements that it has, as long as they match, and gets no other. */
  readonly cordoned?: boolean;
  readonly syncTargetUid: string;
  /** Own labels over inherited ones. */
  readonly labels: Labels;
  /** Of the SyncTarget: `spec.properties`, and its own labels. */
  readonly properties?: Labels;
  readonly targetLabels?: Labels;
  /** Changes with whatever else of Location and SyncTarget an expression may read. */
  readonly rest?: string;
  /** What customization sees of it. */
  readonly facts: DestinationFacts;
  /** Whether an expression is true here. */
  readonly evaluate: (expression: string) => boolean;
  /** Why an expression can't be evaluated here; absent when it can. */
  readonly failureOf?: (expression: string) => string | undefined;
}

export interface Child {
  readonly name: string;
  readonly role: ChildRole;
  /** Of an agent: empty until an inventory names it; those of a SyncTarget go when its `spec.evictAfter` has come. */
  readonly destinations: readonly Destination[];
  /** Of a relay: it has reported itself; `labels` may be of a sibling. */
  readonly hasReportedLabels?: boolean;
  /** Of a relay: undefined until it or a sibling has reported, and then nothing can be pruned. */
  readonly labels?: LabelSummary;
  /** Of a relay: of these the places that it counts, unless they are all of its own. */
  readonly counted?: LabelSummary;
}

/**
 * Whether a placement may reach something at or below the child, and how many destinations: exact for agents and while
 * the summary is exact, otherwise undefined. A relay that has not reported yet gets nothing: it has reported no destination.
 */
export function matchChild(placement: Placement, child: Child): Match {
  if (child.role === 'agent') {
    const has = placement.children.has(child.name);
    const open = has ? child.destinations : child.destinations.filter(({ cordoned }) => cordoned !== true);
    const matches = open.some((destination) => matchesDestination(placement, destination));
    return { matches, expected: matches ? 1 : 0 };
  }
  if (!child.labels) return { matches: false, expected: 0 };
  const match = matchSummary(ruleOf(placement), child.labels);
  if (!child.counted) return match;
  return { matches: match.matches, expected: matchSummary(ruleOf(placement), child.counted).expected };
}

/** How many destinations at or below the child would be selected if the expression did not fail there, as far as that is certain. */
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

/** Of an agent: the Locations through which the placement reaches it. */
export function matchingDestinations(placement: Placement, child: Child): Destination[] {
  return child.destinations.filter((destination) => matchesDestination(placement, destination));
}

/**
 * Of an agent: the destination that its objects are customized for. An agent with several Locations gets an object once, for the first of them by
 * name through which one of the placements reaches it.
 */
export function destinationFor(child: Child, placements: readonly Placement[]): Destination | undefined {
  if (child.destinations.length < 2) return child.destinations[0];
  const matching = child.destinations.filter((one) =>
    placements.some((placement) => matchesDestination(placement, one)),
  );
  return [...matching].sort((a, b) => (destinationNameOf(a) < destinationNameOf(b) ? -1 : 1))[0];
}

/** Among the destinations of one agent: two inventories may have a Location of one name, and a Location two of its SyncTargets. */
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
