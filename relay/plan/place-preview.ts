/**
 * How many destinations a placement would match if it were written, by child of this node, and how many would join or leave. The node asks its children's label
 * summaries, as the scheduler does. So the work grows with the number of children, and nothing is asked below.
 */
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import type { DeliveryBounds } from '../../core/match/delivery-bounds.ts';
import { addChanges, type CountRange, type MatchChange, noChange } from '../../core/match/match-counts.ts';
import { compareText } from '../../core/object/text-order.ts';
import { type Child, compareAtChild } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import { type PlacementSelectors, placementOf, withinBounds } from '../placements/read-placement.ts';

export interface PlacePreview extends MatchChange {
  /** The same numbers for each part of the tree that has some, in the order of text. */
  readonly parts: readonly PreviewPart[];
  /** Paths of relays that have not reported their Locations yet. The numbers are without them. */
  readonly unknown: readonly string[];
}

/** `path` is the path of a relay directly below the node. Absent: the agents directly below the node. */
export interface PreviewPart extends MatchChange {
  readonly path?: string;
}

export interface PlacePreviewPorts {
  readonly children: ReadonlyMap<string, Child>;
  pathOf(child: string): string;
  present(id: PlacementId): Placement | undefined;
  /** `spec.delivery` of the space of a source. */
  boundsOf(source: string): DeliveryBounds | undefined;
}

export function previewPlaces(ports: PlacePreviewPorts, id: PlacementId, spec: PlacementSelectors): PlacePreview {
  const present = ports.present(id);
  const bounded = withinBounds(spec, ports.boundsOf(splitPlacementId(id).source));
  const next = placementOf(id, bounded, new Set());
  const parts = new Map<string, MatchChange>();
  const unknown = new Set<string>();
  for (const child of ports.children.values()) {
    const change = compareAtChild(present, next, child);
    // Replicas of a relay count different children of the relay, so their numbers add up.
    const path = child.role === 'relay' ? ports.pathOf(splitReplica(child.name).name) : '';
    if (!change) unknown.add(path);
    else parts.set(path, addChanges(parts.get(path) ?? noChange, change));
  }
  const shown = [...parts].filter(([, { present: had, next: gets }]) => had.atMost + gets.atMost > 0);
  const total = [...parts.values()].reduce(addChanges, noChange);
  return {
    ...total,
    parts: shown
      .sort(([a], [b]) => compareText(a, b))
      .map(([path, change]) => (path === '' ? change : { path, ...change })),
    unknown: [...unknown].filter((path) => !parts.has(path)).sort(compareText),
  };
}

// ------------------------------------------------------------------------------------------------------- as text

/** The parts that one text names. More would not be read; `banyan plan` shows all of them. */
const partsInTextMax = 8;

/** `12 places (+3, -1): eu 8, us 4` */
export function previewText({ next, joining, leaving, parts, unknown }: PlacePreview): string {
  const moves = [
    ...(joining.atMost > 0 ? [`+${rangeText(joining)}`] : []),
    ...(leaving.atMost > 0 ? [`-${rangeText(leaving)}`] : []),
  ];
  const shown = parts.filter((part) => part.next.atMost > 0);
  const named = shown.slice(0, partsInTextMax).map((part) => `${partName(part)} ${rangeText(part.next)}`);
  const more = shown.length > partsInTextMax ? `, and ${shown.length - partsInTextMax} more relays` : '';
  const missing = unknown.length > 0 ? `; without ${unknown.join(', ')}, which has not reported its Locations yet` : '';
  return [
    `${rangeText(next)} ${isOne(next) ? 'place' : 'places'}`,
    moves.length > 0 ? ` (${moves.join(', ')})` : '',
    named.length > 0 ? `: ${named.join(', ')}${more}` : '',
    missing,
  ].join('');
}

export function partName({ path }: PreviewPart): string {
  return path ?? 'directly below this node';
}

/** `12`, `at most 7`, or `3 to 7`. */
export function rangeText({ atLeast, atMost }: CountRange): string {
  if (atLeast === atMost) return String(atLeast);
  return atLeast === 0 ? `at most ${atMost}` : `${atLeast} to ${atMost}`;
}

function isOne({ atLeast, atMost }: CountRange): boolean {
  return atLeast === 1 && atMost === 1;
}
