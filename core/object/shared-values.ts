/**
 * One copy of what thousands of rows say alike, such as the names of their placements: an index that keeps what it parsed of each row would hold as many
 * copies as there are rows.
 */

/** Distinct values that are remembered: more than an index has of kinds of rows. Beyond it remembering begins anew, at the cost of a second copy of each. */
const distinctMax = 1_024;

export class SharedValues {
  readonly #byText = new Map<string, unknown>();

  /** What was given first of all with the same JSON, which may be `value` itself. Nobody may change it. */
  of<T>(value: T): T {
    const text = JSON.stringify(value);
    if (text === undefined) return value;
    const known = this.#byText.get(text);
    if (known !== undefined) return known as T;
    if (this.#byText.size >= distinctMax) this.#byText.clear();
    this.#byText.set(text, value);
    return value;
  }
}
