/** Which ids of the other side have come. It gives them in order, and they come in another one: each call of a child may have a connection of its own. */
export class UsedIds {
  #highest: number;
  readonly #skippedMax: number;
  /** Passed over, and they may still come. Oldest first. */
  readonly #skipped = new Set<number>();

  /** `first`: of the other side, 1 or 2. `skippedMax`: so many that were passed over are remembered, the last ones. */
  constructor(first: number, skippedMax: number) {
    this.#highest = first - 2;
    this.#skippedMax = skippedMax;
  }

  /** False: it was taken before, is of this side, or so old that nobody knows. */
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
