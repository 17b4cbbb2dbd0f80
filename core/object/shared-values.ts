/**
 * Keeps one copy of a value that thousands of rows have in common, for example the names of their placements. Without it, an index that keeps the parsed
 * form of each row would hold one copy for each row.
 */

/** Number of distinct values in memory: more than the kinds of rows in an index. Beyond it, all values are forgotten, which costs a second copy of each. */
const distinctMax = 1_024;

export class SharedValues {
  readonly #byText = new Map<string, unknown>();

  /** The first value that came with the same JSON text, which may be `value` itself. Nobody may change the result. */
  of<T>(value: T): T {
    const text = JSON.stringify(value);
    if (text === undefined) return value;
    const shared = this.#byText.get(text);
    if (shared !== undefined) return shared as T;
    if (this.#byText.size >= distinctMax) this.#byText.clear();
    this.#byText.set(text, value);
    return value;
  }
}
