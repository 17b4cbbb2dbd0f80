/**
 * Which placements a change concerns: those that name a summarizer, and those that have a row of an object. A change costs work by what it concerns, however
 * many placements have summaries. In memory, as the summaries are. Bounds: an entry for each name that a placement's specification has, and one for each object
 * and placement with a row, of whatever many agents and summarizers: never more than there are rows in the summaries themselves.
 */
import { type PlacementId, splitPlacementId } from '../../../core/entries/placement-id.ts';
import type { RowWatch } from './user-summary.ts';

export class SummaryIndex {
  /** By source and name of the summarizer. */
  readonly #naming = new Map<string, Set<PlacementId>>();
  /** By object, how many rows a placement has of it. */
  readonly #rows = new Map<string, Map<PlacementId, number>>();

  /** The placement's specification names these summarizers now, and named those before. */
  name(id: PlacementId, before: readonly string[], now: readonly string[]): void {
    const { source } = splitPlacementId(id);
    for (const name of before) {
      const key = `${source}/${name}`;
      const ids = this.#naming.get(key);
      ids?.delete(id);
      if (ids?.size === 0) this.#naming.delete(key);
    }
    for (const name of now) {
      const key = `${source}/${name}`;
      this.#naming.set(key, (this.#naming.get(key) ?? new Set()).add(id));
    }
  }

  naming(source: string, name: string): Iterable<PlacementId> {
    return this.#naming.get(`${source}/${name}`) ?? [];
  }

  /** For the rows of one summary of the placement. */
  rowsOf(id: PlacementId): RowWatch {
    return { came: (object) => this.#count(id, object, 1), went: (object) => this.#count(id, object, -1) };
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
