/**
 * One key of a label summary, for summaries with too many sets. It has the number of places with the key, the values, and the range of the numbers. Each key
 * is separate: the summary does not know which keys are at the same place, so the answer to a question about two keys is at best "maybe".
 */

import { cutCounts, presentMax } from '../object/bounded-counts.ts';
import { stableStringify } from '../object/canonical.ts';
import { isInteger, type LabelRequirement, type Labels } from '../object/selector.ts';

/** Limit for the values of a key. If a key has more, the summary has no values: only the number of places with the key, and the range of the numbers. */
export const valuesPerKeyMax = 256;
/** Limit for the characters of all values of one key. A label has at most 63 characters, a property may have any number. */
export const charactersPerKeyMax = 16_384;

/** The smallest and the greatest number among the values; CEL's `double()` decides what is a number. Empty: no value is a number. */
export type NumberRange = readonly [low: number, high: number] | readonly [];

export interface KeySummary {
  readonly present: number;
  /** The number of places with each value. Empty unless `complete`: with only some of the values, nobody could exclude another value. */
  readonly values: Readonly<Record<string, number>>;
  readonly complete: boolean;
  /** The smallest and the greatest integer among the values. */
  readonly min?: number;
  readonly max?: number;
  /** The range of the numbers; only if not `complete`. Absent: unknown, or a value is NaN or infinite. */
  readonly numbers?: NumberRange;
}

export type KeySummaries = Readonly<Record<string, KeySummary>>;

const absentKey: KeySummary = { present: 0, values: {}, complete: true };

/** The keys of all places. `more`: the places also have other keys, and nothing is known about them. */
export interface KeySection {
  readonly keys: KeySummaries;
  readonly more?: true;
}

/** The summary of one key. Undefined: nothing is known, so any place may have the key with any value. */
export function keySectionIn({ keys, more }: KeySection, name: string): KeySummary | undefined {
  return more && !Object.hasOwn(keys, name) ? undefined : keyOf(keys, name);
}

function keyOf(keys: KeySummaries, name: string): KeySummary {
  return Object.hasOwn(keys, name) ? keys[name]! : absentKey;
}

/** Makes the summaries of all keys from groups of places. All places of one group have the same values. */
export function keysOfValues(groups: Iterable<readonly [values: Labels, places: number]>): Record<string, KeySummary> {
  const found: Record<string, { present: number; readonly values: Record<string, number> }> = Object.create(null);
  for (const [labels, places] of groups) {
    for (const [key, value] of Object.entries(labels)) {
      found[key] ??= { present: 0, values: Object.create(null) };
      const one = found[key];
      one.present += places;
      one.values[value] = (one.values[value] ?? 0) + places;
    }
  }
  return Object.fromEntries(
    Object.entries(found).map(([key, one]) => [key, interned(boundedKey(one.present, one.values))]),
  );
}

/** Merges sections; no place is in two of them. If nothing is known about a key in one section, the key is left out, and counts as one of `more`. */
export function mergeKeySections(parts: readonly KeySection[]): KeySection {
  const keys: Record<string, KeySummary> = Object.create(null);
  const open = parts.filter(({ more }) => more);
  for (const part of parts) {
    for (const key of Object.keys(part.keys)) {
      if (!open.every((one) => Object.hasOwn(one.keys, key))) continue;
      const before = keys[key];
      keys[key] = before ? mergedBefore(before, part.keys[key]!) : part.keys[key]!;
    }
  }
  return open.length > 0 ? { keys, more: true } : { keys };
}

/**
 * A cache of the merges of two keys. Usually only one of the many keys of a summary changes at a time. With the cache, the merges of all other keys stay the
 * same objects, up to the node's own summary, and need no new merge, comparison or encoding.
 */
const merges = new WeakMap<KeySummary, WeakMap<KeySummary, KeySummary>>();

function mergedBefore(a: KeySummary, b: KeySummary): KeySummary {
  const withA = merges.get(a) ?? new WeakMap<KeySummary, KeySummary>();
  merges.set(a, withA);
  const sum = withA.get(b) ?? mergeKeys(a, b);
  withA.set(b, sum);
  return sum;
}

/**
 * A cache of key summaries that were made from sets. The limit is enough for all keys of a few hundred subtrees. A full cache is cleared; then the summaries
 * are made and merged again.
 */
const internedKeys = new Map<string, KeySummary>();
const internedMax = 16_384;

/** Returns the same object for equal summaries, so that unchanged keys need no new merge. */
function interned(key: KeySummary): KeySummary {
  const id = encodeKey(key);
  const before = internedKeys.get(id);
  if (before) return before;
  if (internedKeys.size >= internedMax) internedKeys.clear();
  internedKeys.set(id, key);
  return key;
}

const encoded = new WeakMap<KeySummary, string>();

/** The key as canonical JSON. Counts are cut to the largest number that a parent accepts. */
export function encodeKey(key: KeySummary): string {
  const before = encoded.get(key);
  if (before !== undefined) return before;
  const made = stableStringify({ ...key, present: Math.min(key.present, presentMax), values: cutCounts(key.values) });
  encoded.set(key, made);
  return made;
}

/** Names of the keys whose summaries differ. */
export function differentKeys(a: KeySummaries, b: KeySummaries): string[] {
  const isSame = (name: string) => a[name] === b[name] || encodeKey(keyOf(a, name)) === encodeKey(keyOf(b, name));
  const names = Object.keys(a).filter((name) => !isSame(name));
  for (const name of Object.keys(b)) if (!Object.hasOwn(a, name)) names.push(name);
  return names;
}

/**
 * True: for each key, everything that is possible at a place of `narrow` is also possible at a place of `wide`. `places`: the numbers of places of both
 * sections.
 */
export function coversKeys(wide: KeySection, narrow: KeySection, places: { wide: number; narrow: number }): boolean {
  if (narrow.more && !wide.more) return false;
  const names = new Set([...Object.keys(wide.keys), ...(wide.more ? [] : Object.keys(narrow.keys))]);
  return [...names].every((name) => {
    const [inWide, inNarrow] = [keyOf(wide.keys, name), keySectionIn(narrow, name)];
    if (!inNarrow) return false;
    if (inWide === inNarrow && places.wide === places.narrow) return true;
    return coversKey(inWide, inNarrow, {
      wide: places.wide - inWide.present,
      narrow: places.narrow - inNarrow.present,
    });
  });
}

/** The range of the numbers among the values. It is known for some keys whose values are not. Undefined: nothing is known. */
export function numbersOf(key: KeySummary): NumberRange | undefined {
  if (!key.complete) return key.numbers;
  const before = ranges.get(key);
  if (before) return before.range;
  const range = rangeOf(Object.keys(key.values));
  ranges.set(key, { range });
  return range;
}

/** The summary of a key without the values that `isAllowed` refuses. Undefined: no value is left. Only for a summary that has its values. */
export function restrictedKey(key: KeySummary, isAllowed: (value: string) => boolean): KeySummary | undefined {
  const kept = Object.entries(key.values).filter(([value]) => isAllowed(value));
  if (kept.length === Object.keys(key.values).length) return key;
  const present = kept.reduce((sum, [, places]) => sum + places, 0);
  return kept.length === 0 ? undefined : interned(boundedKey(present, Object.fromEntries(kept)));
}

/** The summary of the key without its values, like the summary of a key with too many values. */
export function withoutValues(key: KeySummary): KeySummary {
  return manyValued(key, numbersOf(key));
}

function manyValued(
  { present, min, max }: Pick<KeySummary, 'present' | 'min' | 'max'>,
  numbers: NumberRange | undefined,
): KeySummary {
  const range = { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
  return { present, values: {}, complete: false, ...range, ...(numbers ? { numbers } : {}) };
}

const ranges = new WeakMap<KeySummary, { readonly range: NumberRange | undefined }>();

/** Whether at least one of the `places` places may satisfy the requirement. */
export function mayHold(requirement: LabelRequirement, section: KeySection, places: number): boolean {
  const key = keySectionIn(section, requirement.key);
  if (!key) return true;
  const values = [...new Set(requirement.values ?? [])];
  const placesNamed = values.reduce(
    (sum, value) => sum + (Object.hasOwn(key.values, value) ? key.values[value]! : 0),
    0,
  );
  switch (requirement.operator) {
    case 'In':
      return placesNamed > 0 || (!key.complete && values.length > 0);
    case 'Exists':
      return key.present > 0;
    case 'DoesNotExist':
      return places - key.present > 0;
    case 'NotIn':
      return places - key.present > 0 || key.present - placesNamed > 0;
    case 'Gt':
      return key.max !== undefined && key.max > Number(values[0]);
    case 'Lt':
      return key.min !== undefined && key.min < Number(values[0]);
  }
}

/** `absent`: the numbers of places without the key. */
function coversKey(wide: KeySummary, narrow: KeySummary, absent: { wide: number; narrow: number }): boolean {
  if (absent.narrow > 0 && absent.wide <= 0) return false;
  if (narrow.present === 0) return true;
  if (wide.present === 0) return false;
  if (wide.complete)
    return narrow.complete && Object.keys(narrow.values).every((value) => Object.hasOwn(wide.values, value));
  if (!within([wide.min, wide.max], [narrow.min, narrow.max])) return false;
  if (wide.numbers === undefined) return true;
  const numbers = numbersOf(narrow);
  return numbers !== undefined && within(wide.numbers, numbers);
}

function within(wide: readonly (number | undefined)[], narrow: readonly (number | undefined)[]): boolean {
  const [low, high] = narrow;
  if (low === undefined || high === undefined) return true;
  return wide[0] !== undefined && wide[1] !== undefined && wide[0] <= low && high <= wide[1];
}

function mergeKeys(a: KeySummary, b: KeySummary): KeySummary {
  const min = pickNumber(a.min, b.min, Math.min);
  const max = pickNumber(a.max, b.max, Math.max);
  const range = { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
  const present = a.present + b.present;
  const values = a.complete && b.complete ? addValues(a.values, b.values) : undefined;
  if (values) return { present, values, complete: true, ...range };
  return manyValued({ present, ...range }, joinNumbers(numbersOf(a), numbersOf(b)));
}

/** Adds the counts of both. Undefined: the values exceed the limits. The number of values is checked before the copy, because the copy is expensive. */
function addValues(a: KeySummary['values'], b: KeySummary['values']): Record<string, number> | undefined {
  const more = Object.keys(b);
  const fresh = more.filter((value) => !Object.hasOwn(a, value)).length;
  if (Object.keys(a).length + fresh > valuesPerKeyMax) return undefined;
  const values: Record<string, number> = Object.assign(Object.create(null), a);
  for (const value of more) values[value] = (values[value] ?? 0) + b[value]!;
  return fits(values) ? values : undefined;
}

function boundedKey(present: number, values: Readonly<Record<string, number>>): KeySummary {
  const integers = Object.keys(values).filter(isInteger).map(Number);
  // Not `Math.min(...integers)`: there may be more values than the arguments that a call may have.
  const range =
    integers.length === 0
      ? {}
      : { min: integers.reduce((a, b) => Math.min(a, b)), max: integers.reduce((a, b) => Math.max(a, b)) };
  if (fits(values)) return { present, values, complete: true, ...range };
  return manyValued({ present, ...range }, rangeOf(Object.keys(values)));
}

function fits(values: Readonly<Record<string, number>>): boolean {
  const kept = Object.keys(values);
  if (kept.length > valuesPerKeyMax) return false;
  return kept.reduce((characters, value) => characters + value.length, 0) <= charactersPerKeyMax;
}

function joinNumbers(a: NumberRange | undefined, b: NumberRange | undefined): NumberRange | undefined {
  if (!a || !b) return undefined;
  if (a.length === 0) return b;
  return b.length === 0 ? a : [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
}

function rangeOf(values: readonly string[]): NumberRange | undefined {
  let range: NumberRange | undefined = [];
  for (const value of values) {
    const number = numberIn(value);
    if (number === undefined) continue;
    range = Number.isFinite(number) ? joinNumbers(range, [number, number]) : undefined;
    if (!range) return undefined;
  }
  return range;
}

/**
 * The number in a text. Accepts at least every text that the engine's `double()` and `int()` accept: everything that JavaScript reads as a number, also with
 * spaces around it, and words such as `inf`, for which it returns NaN. Undefined: the text is certainly no number.
 */
function numberIn(value: string): number | undefined {
  const number = Number(value);
  if (!Number.isNaN(number)) return number;
  return /^[+-]?(?:nan|inf|infinity)$/i.test(value.trim()) ? Number.NaN : undefined;
}

function pickNumber(a: number | undefined, b: number | undefined, pick: (a: number, b: number) => number) {
  if (a === undefined) return b;
  return b === undefined ? a : pick(a, b);
}
