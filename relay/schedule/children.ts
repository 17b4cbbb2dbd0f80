/**
 * The children of this node as the scheduler sees them: who they are, and where in the inventory they stand. An agent is a
 * destination known with all its labels; a relay is a label summary of what lies below it.
 */
import { countMatching, type LabelSummary, mayMatch } from '../../core/match/label-summary.ts';
import { type Labels, matchesSelector } from '../../core/object/selector.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Placement } from './placements.ts';

export type ChildRole = 'relay' | 'agent';

/** One Location that selects the child's SyncTarget. */
export interface Destination {
  readonly location: string;
  readonly syncTargetUid: string;
  /** Own labels over inherited ones. */
  readonly labels: Labels;
  /** Whether an expression is true here; absent when the placement has none. */
  readonly evaluate: (expression: string) => boolean;
}

export interface Child {
  readonly name: string;
  readonly role: ChildRole;
  /** Of an agent: empty until the inventory names it. */
  readonly destinations: readonly Destination[];
  /** Of a relay: undefined until it has reported, and then nothing can be pruned. */
  readonly labels?: LabelSummary;
}

export type Match = { readonly matches: boolean; readonly expected: number | undefined };

/**
 * Whether a placement may reach something at or below the child, and how many destinations: exact for agents and while
 * the summary is exact, otherwise undefined. A relay that has not reported yet gets nothing: it has reported no destination.
 */
export function matchChild(placement: Placement, child: Child): Match {
  if (child.role === 'agent') {
    const matches = child.destinations.some((destination) => matchesDestination(placement, destination));
    return { matches, expected: matches ? 1 : 0 };
  }
  if (!child.labels) return { matches: false, expected: 0 };
  const selectors = selectorsOf(placement);
  const summary = child.labels;
  const matches = selectors.some((selector) => mayMatch(selector, summary));
  if (!matches) return { matches, expected: 0 };
  return { matches, expected: placement.locationExpression ? undefined : countMatching(selectors, summary) };
}

/** Of an agent: the Locations through which the placement reaches it. */
export function matchingDestinations(placement: Placement, child: Child): Destination[] {
  return child.destinations.filter((destination) => matchesDestination(placement, destination));
}

function matchesDestination(placement: Placement, destination: Destination): boolean {
  if (!selectorsOf(placement).some((selector) => matchesSelector(selector, destination.labels))) return false;
  return placement.locationExpression === undefined || destination.evaluate(placement.locationExpression);
}

function selectorsOf(placement: Placement) {
  const { locationSelectors, locationExpression } = placement;
  return locationSelectors.length === 0 && locationExpression !== undefined ? [{}] : locationSelectors;
}

export function storedChildren(reader: Reader): { name: string; role: ChildRole }[] {
  const prefix = prefixOf('child');
  return [...reader.scan(prefixRange(prefix))].map(([key, value]) => ({
    name: asText(key.subarray(prefix.length)),
    role: (JSON.parse(asText(value)) as { role: ChildRole }).role,
  }));
}

export function storeChild(t: Transaction, name: string, role: ChildRole): void {
  t.put(concat(prefixOf('child'), text(name)), text(JSON.stringify({ role })));
}

export function forgetChild(t: Transaction, name: string): void {
  t.remove(concat(prefixOf('child'), text(name)));
}
