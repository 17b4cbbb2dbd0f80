/**
 * Objects that are wanted no more and still on the cluster, with the placements that wanted them: a placement is not done, or has
 * not let go, until they have gone. It is in memory; a start reads it from the owner records.
 */
import type { PlacementId } from '../../core/wire/entries.ts';
import type { OwnerRecords } from './owner-records.ts';

export class Leaving {
  readonly #placements = new Map<string, readonly PlacementId[]>();

  /** What is on record and not wanted: it was not over when the process ended. */
  load(records: OwnerRecords, isWanted: (key: string) => boolean): void {
    for (const key of records.keys()) if (!isWanted(key)) this.begin(key, records.get(key)?.placements ?? []);
  }

  begin(key: string, placements: readonly PlacementId[]): void {
    this.#placements.set(key, placements);
  }

  /** The object has gone, or is wanted again; the placements that it was leaving. */
  end(key: string): readonly PlacementId[] {
    const placements = this.#placements.get(key) ?? [];
    this.#placements.delete(key);
    return placements;
  }

  isLeaving(id: PlacementId): boolean {
    for (const placements of this.#placements.values()) if (placements.includes(id)) return true;
    return false;
  }
}
