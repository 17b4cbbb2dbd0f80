/**
 * Records which values of a destination an evaluation reads. An evaluation depends only on its key and on these values. So an evaluation that reads the
 * same values gives the same result, and a change of any other value does not change the result.
 */

import { type CelValue, celValue } from '../match/cel/values.ts';
import { stableStringify } from '../object/canonical.ts';
import { jsonText, parseJson } from '../object/json.ts';
import type { DestinationFacts } from './customizer.ts';

/** One read of a destination: the field at a path, for example location, metadata, annotations, store-name. */
export interface Read {
  readonly path: readonly string[];
  readonly look: Look;
}

/**
 * The part of the field that the evaluation uses.
 * - `value`: a scalar or a list. For an object, or for a path without a value, only this fact.
 * - `whole`: everything below the path.
 * - `first`: the type of the first value of an object, in the order of the names. The engine of expressions needs this type to choose an operator.
 */
export type Look = 'value' | 'whole' | 'first';

/** One read and its result. `saw` is the result as a text: equal values give equal texts. */
export interface ReadObservation {
  readonly read: Read;
  readonly saw: string;
}

/** The present result of a read, as a text. */
export function observe(facts: DestinationFacts, { path, look }: Read): string {
  let value: unknown = facts;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return '';
    value = value[name];
  }
  if (value === undefined) return '';
  if (!isObject(value) || look === 'whole') return stableStringify(value);
  return look === 'value' ? '{' : typeOfFirst(value);
}

function typeOfFirst(fields: Record<string, unknown>): string {
  const [name] = namesOf(fields);
  const value = name === undefined ? undefined : fields[name];
  if (isObject(value)) return `{${jsonText(name)}`;
  if (Array.isArray(value)) return stableStringify(value);
  if (typeof value === 'bigint') return 'number';
  return typeof value === 'number' && !Number.isSafeInteger(value) ? 'double' : typeof value;
}

/** The names in sorted order, whatever order the author used, because the result of an evaluation may depend on the order. */
function namesOf(fields: Record<string, unknown>): string[] {
  return Object.keys(fields)
    .filter((name) => fields[name] !== undefined)
    .sort();
}

/** True while every read of the trace gives the recorded result. */
export function stillHolds(facts: DestinationFacts, trace: readonly ReadObservation[]): boolean {
  return trace.every(({ read, saw }) => observe(facts, read) === saw);
}

export class Recorder {
  readonly facts: DestinationFacts;
  readonly trace: ReadObservation[] = [];
  readonly #seen = new Set<string>();

  constructor(facts: DestinationFacts) {
    this.facts = facts;
  }

  note(path: readonly string[], look: Look): void {
    // The id contains the length of each name, so that ["a", "b"] and ["ab"] have different ids.
    const id = `${look}${path.map((name) => `${name.length}:${name}`).join('')}`;
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    const read = { path: [...path], look };
    this.trace.push({ read, saw: observe(this.facts, read) });
  }

  /** The value of an expression's variable. */
  variable(name: keyof DestinationFacts): CelValue {
    const value: unknown = this.facts[name];
    if (isObject(value)) return lazyMap(value, [name], this);
    this.note([name], 'value');
    return celValue(value);
  }

  /** A text field of the destination. Undefined if the path has no text. */
  text(path: readonly string[]): string | undefined {
    this.note(path, 'value');
    let value: unknown = this.facts;
    for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    return typeof value === 'string' ? value : undefined;
  }
}

/** An object as expressions see it. A value is converted only when an expression reads it. Without a recorder, the reads are not recorded. */
export function lazyMap(
  fields: Readonly<Record<string, unknown>>,
  path: readonly string[],
  recorder?: Recorder,
): CelValue {
  return new LazyMap(fields, path, recorder);
}

class LazyMap extends Map<string, CelValue> {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #path: readonly string[];
  readonly #recorder: Recorder | undefined;
  #all: Map<string, CelValue> | undefined;

  constructor(fields: Readonly<Record<string, unknown>>, path: readonly string[], recorder: Recorder | undefined) {
    super();
    this.#fields = fields;
    this.#path = path;
    this.#recorder = recorder;
  }

  override get(name: string): CelValue | undefined {
    const path = [...this.#path, String(name)];
    this.#recorder?.note(path, 'value');
    const value = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
    if (value === undefined) return undefined;
    return isObject(value) ? lazyMap(value, path, this.#recorder) : celValue(value);
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  override get size(): number {
    return this.#whole().size;
  }

  override keys(): MapIterator<string> {
    return this.#whole().keys();
  }

  override values(): MapIterator<CelValue> {
    return this.#whole().values();
  }

  /** The engine calls this method only to get the type of the first value, and reads values in other ways. So only the type counts as read. */
  override *entries(): Generator<[string, CelValue], undefined> {
    this.#recorder?.note(this.#path, 'first');
    const [name] = namesOf(this.#fields);
    if (name === undefined) return;
    const value = this.#fields[name];
    const path = [...this.#path, name];
    yield [name, isObject(value) ? lazyMap(value, path, this.#recorder) : celValue(value)];
    const [, ...others] = this.#whole();
    yield* others;
  }

  override [Symbol.iterator](): MapIterator<[string, CelValue]> {
    return this.#whole().entries();
  }

  override forEach(act: (value: CelValue, key: string, map: Map<string, CelValue>) => void): void {
    this.#whole().forEach(act);
  }

  #whole(): Map<string, CelValue> {
    this.#recorder?.note(this.#path, 'whole');
    this.#all ??= celValue(parseJson(stableStringify(this.#fields))) as Map<string, CelValue>;
    return this.#all;
  }
}

// The engine of expressions recognises a map by its constructor.
Object.defineProperty(LazyMap.prototype, 'constructor', { value: Map });

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
