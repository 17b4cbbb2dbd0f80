/** Names with the time at which each is due, sorted by time. A change of a time costs a binary search. The search for due names reads only the due names. */

interface Due {
  readonly name: string;
  readonly atMs: number;
}

export class DueTimes {
  readonly #times = new Map<string, number>();
  /** Sorted with the latest time first, so that the due names are at the end. */
  readonly #order: Due[] = [];

  /** Sets the time of a name. Undefined: the name has no time any more. */
  set(name: string, atMs: number | undefined): void {
    const before = this.#times.get(name);
    if (before === atMs) return;
    if (before !== undefined) this.#order.splice(this.#placeOf({ name, atMs: before }), 1);
    if (atMs === undefined) {
      this.#times.delete(name);
      return;
    }
    this.#times.set(name, atMs);
    this.#order.splice(this.#placeOf({ name, atMs }), 0, { name, atMs });
  }

  get nextMs(): number | undefined {
    return this.#order.at(-1)?.atMs;
  }

  /** Returns the names whose time has come, the earliest first, at most `max`. They stay due until they get another time or none. */
  due(nowMs: number, max: number): string[] {
    const due: string[] = [];
    for (let at = this.#order.length - 1; at >= 0 && due.length < max; at--) {
      const { name, atMs } = this.#order[at]!;
      if (atMs > nowMs) break;
      due.push(name);
    }
    return due;
  }

  /** Returns the index at which the entry is, or would be inserted. */
  #placeOf(wanted: Due): number {
    let [from, to] = [0, this.#order.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isLater(this.#order[middle]!, wanted)) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

function isLater(a: Due, b: Due): boolean {
  return a.atMs > b.atMs || (a.atMs === b.atMs && a.name > b.name);
}
