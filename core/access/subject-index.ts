/** Finds what was given to a user, without a look at what was given to others. */
import type { Requester } from './attributes.ts';
import { keysOf } from './subjects.ts';

export class SubjectIndex<Given> {
  /** By id: the value, and the keys of its subjects. */
  readonly #values = new Map<string, { readonly value: Given; readonly keys: readonly string[] }>();
  /** By the key of a subject: ids. */
  readonly #ids = new Map<string, Set<string>>();

  get size(): number {
    return this.#values.size;
  }

  /** Adds or replaces the value with this id. `subjectKey` makes the keys; subjects that mean nobody have none. */
  put(id: string, value: Given, subjectKeys: readonly (string | undefined)[]): void {
    this.remove(id);
    const keys = [...new Set(subjectKeys.filter((key) => key !== undefined))];
    this.#values.set(id, { value, keys });
    for (const key of keys) {
      const ids = this.#ids.get(key);
      if (ids) ids.add(id);
      else this.#ids.set(key, new Set([id]));
    }
  }

  remove(id: string): void {
    for (const key of this.#values.get(id)?.keys ?? []) {
      const ids = this.#ids.get(key)!;
      ids.delete(id);
      if (ids.size === 0) this.#ids.delete(key);
    }
    this.#values.delete(id);
  }

  *values(): Generator<Given> {
    for (const { value } of this.#values.values()) yield value;
  }

  /** Every value with a subject that means the user, once. */
  *of(user: Requester): Generator<Given> {
    const seen = new Set<string>();
    for (const key of keysOf(user)) {
      for (const id of this.#ids.get(key) ?? []) {
        if (seen.has(id)) continue;
        seen.add(id);
        yield this.#values.get(id)!.value;
      }
    }
  }
}
