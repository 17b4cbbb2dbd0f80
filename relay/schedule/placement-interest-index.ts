/** Answers which placements a change of a child may concern: placements that name a changed key, and placements that wait for the child. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { changedKeys } from '../children/changed-keys.ts';
import type { Child } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';

export class PlacementInterestIndex {
  readonly #placements: Placements;
  /** Each child as it was when the placements were last matched with it. A child is missing after a start; then all placements are matched. */
  readonly #matchedWith = new Map<string, Child>();
  /** By child: the placements that the child should get or lose, and may not yet. */
  readonly #waiting = new Map<string, Set<PlacementId>>();

  constructor(placements: Placements) {
    this.#placements = placements;
  }

  /** Returns the placements to match with the present child (undefined if it is gone). Placements that waited for it no longer wait. */
  by(name: string, child: Child | undefined): Iterable<Placement> {
    const keys = changedKeys(this.#matchedWith.get(name), child);
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.delete(name);
    if (keys === 'all') return this.#placements.all();
    const waitingPlacements = [...waiting]
      .map((id) => this.#placements.get(id))
      .filter((placement) => placement !== undefined);
    return new Set([...this.#placements.naming(keys), ...waitingPlacements]);
  }

  /** All placements were matched with this state of the child. */
  matched(name: string, child: Child | undefined): void {
    if (child) this.#matchedWith.set(name, child);
    else this.#matchedWith.delete(name);
  }

  wait(id: PlacementId, child: string): void {
    const ids = this.#waiting.get(child) ?? new Set();
    this.#waiting.set(child, ids.add(id));
  }

  /** A transaction failed: the results of matching may not be stored. */
  forget(): void {
    this.#matchedWith.clear();
  }
}
