/** The result of an expression as a value without parts that JSON can hold. */
import { Optional } from '@marcbachmann/cel-js';
import { Duration } from '@marcbachmann/cel-js/evaluator';
import { Quantity } from '../match/cel/quantity.ts';
import type { CelValue } from '../match/cel/values.ts';
import { decimalOf, shownDecimal } from './decimal.ts';
import type { Scalar } from './user-partial.ts';

/** An optional value gives its content, or null. */
export function plainOf(value: CelValue): CelValue {
  if (!(value instanceof Optional)) return value;
  return value.hasValue() ? plainOf(value.value()) : null;
}

/** Undefined: the value is a list, a map or bytes. Numbers as in `shownDecimal`, times in RFC 3339, durations in seconds. */
export function scalarOf(value: unknown): Scalar | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (value instanceof Date) return value.toISOString();
  const number = decimalOf(value);
  return number === undefined ? undefined : shownDecimal(number);
}

/** A value in an error message: `the string "abc"`. */
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
