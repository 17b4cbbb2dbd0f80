/** Converts the result of an expression to a scalar: a value for JSON that is no list and no map. */
import { Optional } from '@marcbachmann/cel-js';
import { Duration } from '@marcbachmann/cel-js/evaluator';
import { Quantity } from '../match/cel/base/quantity.ts';
import type { CelValue } from '../match/cel/values.ts';
import { decimalOf, shownDecimal } from './decimal.ts';
import type { Scalar } from './user-partial.ts';

/** The content of an optional value, or null if it has none. Other values are returned unchanged. */
export function plainOf(value: CelValue): CelValue {
  if (!(value instanceof Optional)) return value;
  return value.hasValue() ? plainOf(value.value()) : null;
}

/** The value as a scalar. Numbers have the form of `shownDecimal`, times of RFC 3339; durations are in seconds. Undefined: a list, a map or bytes. */
export function scalarOf(value: unknown): Scalar | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (value instanceof Date) return value.toISOString();
  const number = decimalOf(value);
  return number === undefined ? undefined : shownDecimal(number);
}

/** Describes a value for an error message, for example `the string "abc"`. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Map) return 'a map';
  if (value instanceof Date) return `the time ${value.toISOString()}`;
  if (value instanceof Quantity || value instanceof Duration) return 'a quantity';
  if (typeof value === 'string')
    return `the string ${JSON.stringify(value.length > 64 ? `${value.slice(0, 63)}…` : value)}`;
  return `the ${typeof value === 'boolean' ? 'boolean' : 'value'} ${String(value)}`;
}
