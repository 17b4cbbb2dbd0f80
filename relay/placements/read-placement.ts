/** Reads a placement from the rows of its source. */

import type { PlacementAttributes, TargetAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { Table } from '../../core/feed/feed.ts';
import { boundedSelectors, type DeliveryBounds } from '../../core/match/delivery-bounds.ts';
import type { LabelSelector } from '../../core/object/selector.ts';
import { isStaged, type RolloutSpec } from '../../core/rollout/spec.ts';
import { asText } from '../../core/store/bytes.ts';
import type { Reader } from '../../core/store/store.ts';
import type { Placement } from './placement.ts';

/** The fields of a placement's spec that decide which destinations match, and in which order they get a release. */
export interface PlacementSelectors {
  locationSelectors?: readonly LabelSelector[];
  locationExpression?: string;
  rollout?: RolloutSpec;
}

function waveSelectorsOf({ waves }: RolloutSpec): LabelSelector[] {
  return (waves ?? []).flatMap(({ selector }) => (selector ? [selector] : []));
}

/** Returns undefined if the source has no such placement. */
export function readPlacement(
  reader: Reader,
  { tableOf }: { tableOf(source: string): Table | undefined },
  id: PlacementId,
  children: Set<string>,
): Placement | undefined {
  const table = tableOf(splitPlacementId(id).source);
  const content = table && entryContent(reader, table, entryKey.placement(id));
  if (!content) return undefined;
  const { spec } = JSON.parse(asText(content.body)) as { spec: PlacementSelectors };
  const { generation, move, delivery } = attributesOf<PlacementAttributes>(content);
  const target = entryContent(reader, table, entryKey.target(id));
  return {
    ...placementOf(id, withinBounds(spec, delivery), children),
    ...(delivery ? { delivery } : {}),
    ...(move ? { move: { ...move, generation } } : {}),
    ...(target ? { target: attributesOf<TargetAttributes>(target) } : {}),
    ...(isStaged(spec.rollout) ? { staged: true, waveSelectors: waveSelectorsOf(spec.rollout) } : {}),
  };
}

/** Narrows the selectors to the bounds. The origin has done so already; each node does so again, because a node between may have changed them. */
export function withinBounds(spec: PlacementSelectors, bounds: DeliveryBounds | undefined): PlacementSelectors {
  if (!bounds) return spec;
  const { locationSelectors = [], locationExpression } = spec;
  return { ...spec, locationSelectors: boundedSelectors(locationSelectors, locationExpression !== undefined, bounds) };
}

/** Returns the part of a placement that decides which destinations match. */
export function placementOf(id: PlacementId, spec: PlacementSelectors, children: Set<string>): Placement {
  return {
    id,
    ...splitPlacementId(id),
    locationSelectors: spec.locationSelectors ?? [],
    ...(spec.locationExpression === undefined ? {} : { locationExpression: spec.locationExpression }),
    children,
  };
}
