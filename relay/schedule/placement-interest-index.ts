/** Returns the placements that a change of a child may concern: placements that name a changed key, and placements that wait for the child. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { changedKeys } from '../children/changed-keys.ts';
import type { Child } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';

export class PlacementInterestIndex {
  readonly #placements: Placements;
  /** Each child as it was when the placements were last matched with it. After a start, all children are missing; then all placements are matched. */
  readonly #matchedWith = new Map<string, Child>();
  /** Keyed by child: the placements that the child should get or lose, but is not allowed to yet. */
  readonly #waiting = new Map<string, Set<PlacementId>>();

  constructor(placements: Placements) {
    this.#placements = placements;
  }

  /** Returns the placements to match with the present child (undefined: the child was removed). Placements that waited for the child no longer wait. */
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

  /** Call it when all placements were matched with this state of the child. */
  matched(name: string, child: Child | undefined): void {
    if (child) this.#matchedWith.set(name, child);
    else this.#matchedWith.delete(name);
  }

  wait(id: PlacementId, child: string): void {
    const ids = this.#waiting.get(child) ?? new Set();
    this.#waiting.set(child, ids.add(id));
  }

  /** Call it when a transaction failed: the results of matching might not be stored. */
  forget(): void {
    this.#matchedWith.clear();
  }
}
