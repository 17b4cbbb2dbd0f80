/**
 * SinglePlacementSlices list the destinations that a placement of this node matches: each destination of this node's own inventory, and for each child relay
 * the number of its destinations. They are written some time after the matches have changed, and never when only the state of a destination changes.
 */

import { placementResource } from '../../../core/apiserver/kinds/edge-placement.ts';
import type { Space } from '../../../core/apiserver/space.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import { stableStringify } from '../../../core/object/canonical.ts';
import { timestamp } from '../../../core/object/conditions.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { isTerminating } from '../../../core/object/terminating.ts';
import type { Clock, Timer } from '../../../core/runtime/clock.ts';
import { ifRoom, roomAgainMs } from '../../../core/store/room.ts';
import type { Placement } from '../../placements/placement.ts';
import type { Placements } from '../../placements/placements.ts';
import { type SliceContent, type SliceSources, type Subtree, sliceContents, sliceOf } from './slice-contents.ts';

export interface SlicesPorts extends SliceSources {
  readonly clock: Clock;
  readonly placements: Placements;
  ownSpace(source: string): Space | undefined;
  /** Called for a placement that is from above, or was removed: this node writes no slice for it. */
  elsewhere(id: PlacementId): void;
}

/** Delay of a write: several label changes within this time lead to one write. */
const intervalMs = 1_000;
/** Limit for the children of placements that one run looks at, about 10 ms. Then other work has its turn. */
const childrenPerRun = 1_000;
const betweenRunsMs = 10;

export class Slices {
  readonly #ports: SlicesPorts;
  readonly #dirty = new Set<PlacementId>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(ports: SlicesPorts) {
    this.#ports = ports;
  }

  /** Call it when the destinations that the placement matches may have changed. */
  mark(id: PlacementId): void {
    if (this.#stopped) return;
    this.#dirty.add(id);
    this.#runIn(intervalMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  #runIn(ms: number): void {
    this.#timer ??= this.#ports.clock.after(ms, () => {
      this.#timer = undefined;
      if (!ifRoom(() => this.#run())) this.#runIn(roomAgainMs);
    });
  }

  #run(): void {
    let childrenLeft = childrenPerRun;
    for (const id of this.#dirty) {
      if (childrenLeft <= 0) return this.#runIn(betweenRunsMs);
      const placement = this.#ports.placements.get(id);
      const space = placement && this.#ports.ownSpace(placement.source);
      if (space) this.#write(space, placement);
      else this.#ports.elsewhere(id);
      this.#dirty.delete(id);
      childrenLeft -= 1 + (placement?.children.size ?? 0);
    }
  }

  #write(space: Space, placement: Placement): void {
    const owner = space.get({ ...placementResource, namespace: '', name: placement.name });
    if (!owner || isTerminating(owner)) return;
    const contents = sliceContents(this.#ports, placement);
    for (let i = 0; ; i++) {
      const content = contents[i];
      const slice = sliceOf({ name: placement.name, uid: owner.metadata.uid! }, i, content ?? {});
      const key = space.keyOf(slice);
      const before = space.get(key) as (KubeObject & SliceContent) | undefined;
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
}

/** Adds the times. A subtree whose number has not changed keeps the time at which it first had this number. */
function stamped(content: SliceContent, before: SliceContent, wallMs: number): SliceContent {
  const byPath = new Map(((before.subtrees ?? []) as readonly Subtree[]).map((subtree) => [subtree.path, subtree]));
  const subtrees = content.subtrees?.map((subtree) => {
    const former = byPath.get(subtree.path);
    const observedTime = former?.matched === subtree.matched ? former.observedTime : timestamp(wallMs);
    return { ...subtree, observedTime };
  });
  return { ...content, ...(subtrees ? { subtrees } : {}) };
}
