/** What is to come when, the next first. A change costs a search among what is known, and a look at what is due nothing but that. */

interface Due {
  readonly name: string;
  readonly atMs: number;
}

export class DueTimes {
  readonly #times = new Map<string, number>();
  /** The latest first, so that what is due is at the end. */
  readonly #order: Due[] = [];

  /** Of each name there is one time; undefined: none. */
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

  /** The first of those whose time has come, this many at most; they stay until they get another time, or none. */
  due(nowMs: number, max: number): string[] {
    const due: string[] = [];
    for (let at = this.#order.length - 1; at >= 0 && due.length < max; at--) {
      const { name, atMs } = this.#order[at]!;
      if (atMs > nowMs) break;
      due.push(name);
    }
    return due;
  }

  /** Where it is, or would be. */
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
