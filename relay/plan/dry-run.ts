/** Shows in the result of `kubectl apply --dry-run=server` how many places an EdgePlacement would match. */

import { placementResource } from '../../core/apiserver/kinds/edge-placement.ts';
import type { DryRunPreview } from '../../core/apiserver/verbs/embedded-space.ts';
import { placementId } from '../../core/entries/placement-id.ts';
import type { PlacementSelectors } from '../placements/read-placement.ts';
import { type PlacePreviewPorts, previewPlaces, previewText } from './place-preview.ts';

/**
 * A warning is what kubectl prints for people. `.status` is for programs and for `-o yaml`. `matchingLocationCount` is exact or absent: without an exact number,
 * `display` has the bounds.
 */
export function dryRunPreview(ports: PlacePreviewPorts, source: string): DryRunPreview {
  return ({ group, resource, name }, object, { subresource, warn }) => {
    const isPlacement = group === placementResource.group && resource === placementResource.resource;
    if (!isPlacement || subresource !== undefined) return;
    const places = previewPlaces(ports, placementId(source, name), (object.spec ?? {}) as PlacementSelectors);
    const shown = `would match ${previewText(places)}`;
    warn?.(`dry run: EdgePlacement "${name}" ${shown}`);
    const { matchingLocationCount: _before, ...status } = (object.status ?? {}) as Record<string, unknown>;
    const { atLeast, atMost } = places.next;
    const isExact = atLeast === atMost && places.unknown.length === 0;
    object.status = { ...status, ...(isExact ? { matchingLocationCount: atLeast } : {}), display: shown };
  };
}
