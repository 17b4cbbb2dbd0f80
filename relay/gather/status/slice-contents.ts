/** The contents of the SinglePlacementSlices of one placement at this node. Pure functions that use the matches and the counts of the summary. */

import { sliceEntriesMax } from '../../../core/apiserver/kinds/edge-kinds.ts';
import { edgeGroup } from '../../../core/apiserver/kinds/edge-placement.ts';
import { type PlacementId, splitPlacementId } from '../../../core/entries/placement-id.ts';
import { childPath } from '../../../core/identity/node-path.ts';
import { hash128 } from '../../../core/object/hash.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { type Child, matchingDestinations } from '../../children/children.ts';
import type { Placement } from '../../placements/placement.ts';

export interface SliceSources {
  readonly path: string;
  readonly children: ReadonlyMap<string, Child>;
  /** Returns the number of destinations at or below a child, as the summary counts them. */
  expected(id: PlacementId, child: string): number;
}

interface SliceDestination {
  readonly cluster: string;
  readonly locationName: string;
  readonly syncTargetName: string;
  readonly syncTargetUID: string;
  readonly path: string;
}

export interface Subtree {
  readonly path: string;
  readonly matched: number;
  readonly observedTime: string;
}

/** Limit for the part of a slice's name before its number. A Kubernetes name has at most 253 characters. */
const stemMax = 245;
const apiVersion = `${edgeGroup}/v1alpha1`;
const kind = 'SinglePlacementSlice';
export const sliceResource = { group: edgeGroup, resource: 'singleplacementslices' } as const;

export type SliceContent = {
  readonly destinations?: readonly SliceDestination[];
  readonly subtrees?: readonly Omit<Subtree, 'observedTime'>[];
};

/** Returns the contents of the placement's slices. The index in the list is the number of the slice. */
export function sliceContents(sources: SliceSources, placement: Placement): SliceContent[] {
  return cut(destinationsOf(sources, placement), subtreesOf(sources, placement));
}

/** Cuts the lists into slices: destinations come first, then subtrees. Each slice has at most `sliceEntriesMax` entries. */
function cut(
  destinations: readonly SliceDestination[],
  subtrees: readonly Omit<Subtree, 'observedTime'>[],
): SliceContent[] {
  const slices: SliceContent[] = [];
  const all = destinations.length + subtrees.length;
  for (let from = 0; from < all; from += sliceEntriesMax) {
    const to = from + sliceEntriesMax;
    const single = destinations.slice(from, to);
    const counted = subtrees.slice(Math.max(0, from - destinations.length), Math.max(0, to - destinations.length));
    slices.push({
      ...(single.length > 0 ? { destinations: single } : {}),
      ...(counted.length > 0 ? { subtrees: counted } : {}),
    });
  }
  return slices;
}

function destinationsOf({ path: nodePath, children }: SliceSources, placement: Placement): SliceDestination[] {
  const found: SliceDestination[] = [];
  for (const name of [...placement.children].sort()) {
    const child = children.get(name);
    if (child?.role !== 'agent') continue;
    const path = childPath(nodePath, name);
    for (const { location, syncTargetUid, origin } of matchingDestinations(placement, child)) {
      const syncTargetName = origin === undefined ? name : splitPlacementId(origin).name;
      const syncTarget = { syncTargetName, syncTargetUID: syncTargetUid };
      found.push({ cluster: name, locationName: location, ...syncTarget, path });
    }
  }
  return found;
}

function subtreesOf({ path, children, expected }: SliceSources, placement: Placement): Omit<Subtree, 'observedTime'>[] {
  return [...placement.children]
    .sort()
    .filter((name) => children.get(name)?.role === 'relay')
    .map((name) => ({
      path: childPath(path, name),
      matched: expected(placement.id, name),
    }))
    .filter(({ matched }) => matched > 0);
}

/** Returns the name of a slice. If `index` is empty, returns the beginning that the names of all slices of the placement share. */
export function sliceName(placement: string, index: number | ''): string {
  if (placement.length <= stemMax) return `${placement}-${index}`;
  const hash = Buffer.from(hash128(placement)).toString('hex').slice(0, 8);
  return `${placement.slice(0, stemMax - 9)}-${hash}-${index}`;
}

/** Returns the slice as an object. A slice without the uid of its placement has no owner: this node only shows the placement. */
export function sliceOf(
  { name, uid }: { name: string; uid?: string },
  index: number,
  content: SliceContent,
): KubeObject {
  const owner = { apiVersion, kind: 'EdgePlacement', name, controller: true };
  return {
    apiVersion,
    kind,
    metadata: {
      name: sliceName(name, index),
      // The value of a label has at most 63 characters. A longer name is only in the owner reference.
      labels: name.length <= 63 ? { [`${edgeGroup}/placement`]: name } : {},
      ...(uid === undefined ? {} : { ownerReferences: [{ ...owner, uid }] }),
    },
    ...content,
  };
}
