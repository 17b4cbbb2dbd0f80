/**
 * One key of a label summary that has too many sets to hold them: how many places have it, which values, which numbers. Each key stands
 * alone, so what is said of two keys together is "maybe".
 */
import { isInteger, type LabelRequirement, type Labels } from '../object/selector.ts';

/** Values counted per key; with more, only that it is present, and its numbers. */
export const valuesPerKeyMax = 256;
/** Characters of these values together: labels have 63 at most, properties any number. */
export const charactersPerKeyMax = 16_384;

/** The smallest and the greatest number among values, as CEL's `double()` reads them; empty: none is a number. */
export type NumberRange = readonly [low: number, high: number] | readonly [];

export interface KeySummary {
  readonly present: number;
  /** How many places have each value; empty unless `complete`, since a part of the values rules nothing out. */
  readonly values: Readonly<Record<string, number>>;
  readonly complete: boolean;
  /** Over the integer values. */
  readonly min?: number;
  readonly max?: number;
  /** Absent: not told, or a value is a number without a place in an order (NaN, infinite). Told beyond `complete` values only. */
  readonly numbers?: NumberRange;
}

export type KeySummaries = Readonly<Record<string, KeySummary>>;

const absentKey: KeySummary = { present: 0, values: {}, complete: true };

export function keyOf(keys: KeySummaries, name: string): KeySummary {
  return Object.hasOwn(keys, name) ? keys[name]! : absentKey;
}

/** Of groups of places, each with the values that all places of the group have. */
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
  return Object.fromEntries(Object.entries(found).map(([key, one]) => [key, keptOf(one.present, one.values)]));
}

/** Adds what `more` says to `keys`, in place. */
export function addKeys(keys: Record<string, KeySummary>, more: KeySummaries): void {
  for (const [key, summary] of Object.entries(more)) {
    keys[key] = Object.hasOwn(keys, key) ? mergeKeys(keys[key]!, summary) : summary;
  }
}

/** Numbers among the values, whether these are told or not; undefined: nothing is known. */
export function numbersOf(key: KeySummary): NumberRange | undefined {
  return key.complete ? rangeOf(Object.keys(key.values)) : key.numbers;
}

/** Some of `places` places may satisfy the requirement. */
export function mayHold(requirement: LabelRequirement, keys: KeySummaries, places: number): boolean {
  const key = keyOf(keys, requirement.key);
  const values = [...new Set(requirement.values ?? [])];
  const known = values.reduce((sum, value) => sum + (Object.hasOwn(key.values, value) ? key.values[value]! : 0), 0);
  switch (requirement.operator) {
    case 'In':
      return known > 0 || (!key.complete && values.length > 0);
    case 'Exists':
      return key.present > 0;
    case 'DoesNotExist':
      return places - key.present > 0;
    case 'NotIn':
      return places - key.present > 0 || key.present - known > 0;
    case 'Gt':
      return key.max !== undefined && key.max > Number(values[0]);
    case 'Lt':
      return key.min !== undefined && key.min < Number(values[0]);
  }
}

/** All that `narrow` may satisfy, `wide` may too; `absent` say how many places do not have the key. */
export function coversKey(wide: KeySummary, narrow: KeySummary, absent: { wide: number; narrow: number }): boolean {
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
  if (a.complete && b.complete) {
    const values: Record<string, number> = Object.assign(Object.create(null), a.values);
    for (const [value, count] of Object.entries(b.values)) values[value] = (values[value] ?? 0) + count;
    if (fits(values)) return { present, values, complete: true, ...range };
  }
  const numbers = joinNumbers(numbersOf(a), numbersOf(b));
  return { present, values: {}, complete: false, ...range, ...(numbers ? { numbers } : {}) };
}

function keptOf(present: number, values: Readonly<Record<string, number>>): KeySummary {
  const integers = Object.keys(values).filter(isInteger).map(Number);
  // Not `Math.min(...integers)`: a list may be longer than an argument list.
  const range =
    integers.length === 0
      ? {}
      : { min: integers.reduce((a, b) => Math.min(a, b)), max: integers.reduce((a, b) => Math.max(a, b)) };
  if (fits(values)) return { present, values, complete: true, ...range };
  const numbers = rangeOf(Object.keys(values));
  return { present, values: {}, complete: false, ...range, ...(numbers ? { numbers } : {}) };
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
 * A superset of what `double()` and `int()` of the engine take: whatever JavaScript reads as a number, also between blanks, and the
 * words for what is not finite. Undefined: certainly no number.
 */
function numberIn(value: string): number | undefined {
  if (/^[+-]?(?:nan|inf|infinity)$/i.test(value.trim())) return Number.NaN;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}

function pickNumber(a: number | undefined, b: number | undefined, pick: (a: number, b: number) => number) {
  if (a === undefined) return b;
  return b === undefined ? a : pick(a, b);
}
