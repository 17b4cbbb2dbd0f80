/**
 * Knows which placements a change concerns: the placements that name a summarizer, and the placements that have a row of an object. So the work for a change
 * grows with the number of placements that it concerns, not with the number of placements that have summaries. The index is in memory, like the summaries.
 * Bounds: one entry for each name in a placement's specification, and one entry for each pair of an object and a placement with a row, whatever the number of
 * agents and summarizers. So there are never more entries than rows in the summaries.
 */
import { type PlacementId, splitPlacementId } from '../../../core/entries/placement-id.ts';
import type { RowWatch } from './user-summary.ts';

export class SummaryIndex {
  /** Keyed by source and name of the summarizer. */
  readonly #byName = new Map<string, Set<PlacementId>>();
  /** Keyed by object: how many rows of the object each placement has. */
  readonly #rows = new Map<string, Map<PlacementId, number>>();

  /** Call it when the specification of the placement named the summarizers `before`, and names the summarizers `after`. */
  name(id: PlacementId, before: readonly string[], after: readonly string[]): void {
    const { source } = splitPlacementId(id);
    for (const name of before) {
      const key = `${source}/${name}`;
      const ids = this.#byName.get(key);
      ids?.delete(id);
      if (ids?.size === 0) this.#byName.delete(key);
    }
    for (const name of after) {
      const key = `${source}/${name}`;
      this.#byName.set(key, (this.#byName.get(key) ?? new Set()).add(id));
    }
  }

  naming(source: string, name: string): Iterable<PlacementId> {
    return this.#byName.get(`${source}/${name}`) ?? [];
  }

  /** Returns a watch that counts the rows of one summary of the placement. */
  rowsOf(id: PlacementId): RowWatch {
    return { added: (object) => this.#count(id, object, 1), removed: (object) => this.#count(id, object, -1) };
  }

  withRowOf(object: string): Iterable<PlacementId> {
    return this.#rows.get(object)?.keys() ?? [];
  }

  #count(id: PlacementId, object: string, by: number): void {
    const counts = this.#rows.get(object) ?? new Map<PlacementId, number>();
    const count = (counts.get(id) ?? 0) + by;
    if (count > 0) counts.set(id, count);
    else counts.delete(id);
    if (counts.size > 0) this.#rows.set(object, counts);
    else this.#rows.delete(object);
  }
}
