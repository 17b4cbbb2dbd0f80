/** A scheduler whose turns the test runs. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  readonly schedule = (turn: () => void): void => {
    this.#waiting.push(turn);
  };

  /** Runs turns until none is requested; returns their number. */
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
