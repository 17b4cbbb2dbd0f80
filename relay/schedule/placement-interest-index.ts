/** Which placements a change of a child may concern: those that name what changed, and those that wait for the child. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { changedKeys } from '../children/changed-keys.ts';
import type { Child } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';

export class PlacementInterestIndex {
  readonly #placements: Placements;
  /** As the placements were last matched with them; missing after a start, and then all placements are looked at. */
  readonly #matchedWith = new Map<string, Child>();
  /** By child: placements that it should get or lose, and may not yet. */
  readonly #waiting = new Map<string, Set<PlacementId>>();

  constructor(placements: Placements) {
    this.#placements = placements;
  }

  /** The child as it is now, undefined for one that is gone; what waits for it waits no more. */
  by(name: string, child: Child | undefined): Iterable<Placement> {
    const keys = changedKeys(this.#matchedWith.get(name), child);
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.delete(name);
    if (keys === 'all') return this.#placements.all();
    const found = [...waiting].map((id) => this.#placements.get(id)).filter((placement) => placement !== undefined);
    return new Set([...this.#placements.naming(keys), ...found]);
  }

  /** All placements are matched with the child as it is now. */
  matched(name: string, child: Child | undefined): void {
    if (child) this.#matchedWith.set(name, child);
    else this.#matchedWith.delete(name);
  }

  wait(id: PlacementId, child: string): void {
    const ids = this.#waiting.get(child) ?? new Set();
    this.#waiting.set(child, ids.add(id));
  }

  /** What was matched may not have been stored. */
  forget(): void {
    this.#matchedWith.clear();
  }
}
