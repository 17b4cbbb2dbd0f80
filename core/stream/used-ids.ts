/**
 * Records which ids of the other side have arrived. The other side assigns ascending ids, but they may arrive in any order, because each call of a child may
 * have its own connection.
 */
export class UsedIds {
  #highest: number;
  readonly #skippedMax: number;
  /** Ids below the highest that have not arrived yet and may still arrive. Oldest first. */
  readonly #skipped = new Set<number>();

  /** `first`: the first id of the other side, 1 or 2. `skippedMax`: limit for the recorded missing ids; the newest are kept. */
  constructor(first: number, skippedMax: number) {
    this.#highest = first - 2;
    this.#skippedMax = skippedMax;
  }

  /** Records an id. Returns false if the id was used before, belongs to this side, or is too old to be recorded. */
  take(id: number): boolean {
    if ((id - this.#highest) % 2 !== 0) return false;
    if (id <= this.#highest) return this.#skipped.delete(id);
    const from = Math.max(this.#highest + 2, id - 2 * this.#skippedMax);
    for (let skipped = from; skipped < id; skipped += 2) this.#skip(skipped);
    this.#highest = id;
    return true;
  }

  #skip(id: number): void {
    this.#skipped.add(id);
    if (this.#skipped.size <= this.#skippedMax) return;
    for (const oldest of this.#skipped) {
      this.#skipped.delete(oldest);
      return;
    }
  }
}
