/** A scheduler whose turns are given by the test. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  readonly schedule = (turn: () => void): void => {
    this.#waiting.push(turn);
  };

  /** Gives turns until nobody wants one; returns how many. */
  settle(): number {
    let turns = 0;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      next();
      turns += 1;
      if (turns > 10_000) throw new Error('the controllers do not come to rest');
    }
    return turns;
  }
}
