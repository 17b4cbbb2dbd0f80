/**
 * The SinglePlacementSlices of placements from above, for the subtree of this node. They are made when somebody reads them: stored slices would be a copy of
 * the inventory for each placement. They have no times: this node does not remember since when a child has had its number of destinations.
 */

import { type PlacementId, splitPlacementId } from '../../../core/entries/placement-id.ts';
import { canonicalBytes } from '../../../core/object/canonical.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
import type { Store } from '../../../core/store/store.ts';
import type { Placement } from '../../placements/placement.ts';
import type { Placements } from '../../placements/placements.ts';
import { shownTopic } from '../../work/topics.ts';
import { type SliceSources, sliceContents, sliceName, sliceOf, sliceResource } from './slice-contents.ts';

export interface SubtreeSlicesPorts extends SliceSources {
  readonly placements: Placements;
  readonly store: Pick<Store, 'announce'>;
}

export interface ShownSlice {
  readonly key: ObjectKey;
  readonly body: Uint8Array;
}

export class SubtreeSlices {
  readonly #ports: SubtreeSlicesPorts;
  /** The number of slices of a placement when its changes were last announced. */
  readonly #counts = new Map<PlacementId, number>();

  constructor(ports: SubtreeSlicesPorts) {
    this.#ports = ports;
  }

  *shown(source: string): Generator<ShownSlice> {
    for (const placement of this.#ports.placements.all()) {
      if (placement.source === source) yield* this.#slices(placement);
    }
  }

  shownOne(source: string, name: string): Uint8Array | undefined {
    for (const placement of this.#ports.placements.all()) {
      if (placement.source !== source || !name.startsWith(sliceName(placement.name, ''))) continue;
      const found = this.#slices(placement).find(({ key }) => key.name === name);
      if (found) return found.body;
    }
    return undefined;
  }

  /** Call it when the destinations that the placement matches below this node may have changed, or when the placement was removed. */
  placementChanged(id: PlacementId): void {
    const { source, name } = splitPlacementId(id);
    const placement = this.#ports.placements.get(id);
    const after = placement ? sliceContents(this.#ports, placement).length : 0;
    const count = Math.max(after, this.#counts.get(id) ?? 0);
    if (after > 0) this.#counts.set(id, after);
    else this.#counts.delete(id);
    const shown = Array.from({ length: count }, (_, i) => ({ source, key: keyOf(sliceName(name, i)) }));
    this.#ports.store.announce(shownTopic, shown);
  }

  #slices(placement: Placement): ShownSlice[] {
    return sliceContents(this.#ports, placement).map((content, i) => {
      const slice = sliceOf({ name: placement.name }, i, content);
      return { key: keyOf(sliceName(placement.name, i)), body: canonicalBytes(slice) };
    });
  }
}

function keyOf(name: string): ObjectKey {
  return { ...sliceResource, namespace: '', name };
}
