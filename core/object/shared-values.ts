/**
 * Keeps one copy of a value that thousands of rows share, for example the names of their placements. Otherwise an index with the parsed form of each row
 * would hold one copy per row.
 */
import { jsonText } from './json.ts';

/**
 * Number of distinct values in memory, larger than the number of kinds of rows in an index. At the bound, the class forgets all values. This costs a second
 * copy of each.
 */
const distinctMax = 1_024;

export class SharedValues {
  readonly #byText = new Map<string, unknown>();

  /** The first value that had the same JSON text; this may be `value` itself. The caller must not change the result. */
  of<T>(value: T): T {
    const text = jsonText(value);
    if (text === undefined) return value;
    const shared = this.#byText.get(text);
    if (shared !== undefined) return shared as T;
    if (this.#byText.size >= distinctMax) this.#byText.clear();
    this.#byText.set(text, value);
    return value;
  }
}
