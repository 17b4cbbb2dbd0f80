/**
 * SinglePlacementSlices: the places that a placement of this node matches, one by one where its own inventory knows them, counted by
 * child where another node does. Written some time after the match has changed, never for a change of state alone.
 */
import { sliceEntriesMax } from '../../core/apiserver/kinds/edge-kinds.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { PlacementId } from '../../core/wire/entries.ts';
import { type Child, matchingDestinations } from '../schedule/children.ts';
import type { Placement, Placements } from '../schedule/placements.ts';
import { placementResource } from '../spaces/selection.ts';
import { childPath } from '../tree/node-objects.ts';

export interface SlicesPorts {
  readonly path: string;
  readonly clock: Clock;
  readonly placements: Placements;
  readonly children: ReadonlyMap<string, Child>;
  ownSpace(source: string): Space | undefined;
  /** Destinations at or below a child, as the summary counts them. */
  expected(id: PlacementId, child: string): number;
}

interface Destination {
  readonly cluster: string;
  readonly locationName: string;
  readonly syncTargetName: string;
  readonly syncTargetUID: string;
  readonly path: string;
}

interface Subtree {
  readonly path: string;
  readonly matched: number;
  readonly observedTime: string;
}

/** Labels that change one after the other are one writing. */
const intervalMs = 1_000;
/** Of a name's 253 characters, what the number behind it leaves. */
const stemMax = 245;
const apiVersion = 'edge.banyan.io/v1alpha1';
const kind = 'SinglePlacementSlice';

export class Slices {
  readonly #ports: SlicesPorts;
  readonly #dirty = new Set<PlacementId>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(ports: SlicesPorts) {
    this.#ports = ports;
  }

  /** What the placement matches may have changed. */
  mark(id: PlacementId): void {
    if (this.#stopped) return;
    this.#dirty.add(id);
    this.#timer ??= this.#ports.clock.after(intervalMs, () => {
      this.#timer = undefined;
      this.#run();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  #run(): void {
    for (const id of this.#dirty) {
      const placement = this.#ports.placements.get(id);
      const space = placement && this.#ports.ownSpace(placement.source);
      if (space) this.#write(space, placement);
    }
    this.#dirty.clear();
  }

  #write(space: Space, placement: Placement): void {
    const owner = space.get({ ...placementResource, namespace: '', name: placement.name });
    if (!owner || owner.metadata.deletionTimestamp !== undefined) return;
    const contents = cut(this.#destinations(placement), this.#subtrees(placement));
    for (let i = 0; ; i++) {
      const content = contents[i];
      const slice = sliceOf(owner, i, content ?? {});
      const key = space.keyOf(slice);
      const before = space.get(key) as (KubeObject & Content) | undefined;
      if (!content) {
        if (!before) return;
        space.delete(key);
      } else if (!before) {
        space.create({ ...slice, ...stamped(content, {}, this.#ports.clock.wallMs()) });
      } else {
        const next = stamped(content, before, this.#ports.clock.wallMs());
        const { destinations, subtrees } = before;
        if (stableStringify({ destinations, subtrees }) === stableStringify(next)) continue;
        space.update({ ...slice, ...next, metadata: { ...before.metadata, labels: slice.metadata.labels! } });
      }
    }
  }

  #destinations(placement: Placement): Destination[] {
    const found: Destination[] = [];
    for (const name of [...placement.children].sort()) {
      const child = this.#ports.children.get(name);
      if (child?.role !== 'agent') continue;
      const path = childPath(this.#ports.path, name);
      for (const { location, syncTargetUid } of matchingDestinations(placement, child)) {
        const syncTarget = { syncTargetName: name, syncTargetUID: syncTargetUid };
        found.push({ cluster: name, locationName: location, ...syncTarget, path });
      }
    }
    return found;
  }

  #subtrees(placement: Placement): Omit<Subtree, 'observedTime'>[] {
    return [...placement.children]
      .sort()
      .filter((name) => this.#ports.children.get(name)?.role === 'relay')
      .map((name) => ({
        path: childPath(this.#ports.path, name),
        matched: this.#ports.expected(placement.id, name),
      }))
      .filter(({ matched }) => matched > 0);
  }
}

type Content = {
  readonly destinations?: readonly Destination[];
  readonly subtrees?: readonly Omit<Subtree, 'observedTime'>[];
};

/** Destinations first, then subtrees, at most `sliceEntriesMax` in each. */
function cut(destinations: readonly Destination[], subtrees: readonly Omit<Subtree, 'observedTime'>[]): Content[] {
  const slices: Content[] = [];
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

/** A subtree that counts as before keeps the time when it first did. */
function stamped(content: Content, before: Content, wallMs: number): Content {
  const known = new Map(((before.subtrees ?? []) as readonly Subtree[]).map((subtree) => [subtree.path, subtree]));
  const subtrees = content.subtrees?.map((subtree) => {
    const old = known.get(subtree.path);
    const observedTime = old?.matched === subtree.matched ? old.observedTime : timestamp(wallMs);
    return { ...subtree, observedTime };
  });
  return { ...content, ...(subtrees ? { subtrees } : {}) };
}

function sliceOf({ metadata }: KubeObject, index: number, content: Content): KubeObject {
  const name = metadata.name!;
  const stem =
    name.length <= stemMax
      ? name
      : `${name.slice(0, stemMax - 9)}-${Buffer.from(hash128(name)).toString('hex').slice(0, 8)}`;
  return {
    apiVersion,
    kind,
    metadata: {
      name: `${stem}-${index}`,
      // A name that is longer than a label's value may be is told by the owner reference alone.
      labels: name.length <= 63 ? { 'edge.banyan.io/placement': name } : {},
      ownerReferences: [{ apiVersion, kind: 'EdgePlacement', name, uid: metadata.uid!, controller: true }],
    },
    ...content,
  };
}
