/**
 * The numbers of summaries: decimals as whole multiples of 10⁻⁹ (the smallest unit of a Kubernetes quantity). Their sums are exact and do not depend on the
 * order. Sums of binary floating-point numbers would depend on the order.
 */
import { Duration } from '@marcbachmann/cel-js/evaluator';
import { Quantity } from '../match/cel/base/quantity.ts';

const decimalUnit = 1_000_000_000n;
const decimalDigits = 9;

/** Limit for a value: 10³⁰. With this limit, the sum over the greatest possible number of rows has fewer than the 60 digits that a partial may carry. */
const magnitudeMax = 10n ** 30n * decimalUnit;

/** Converts a value. Fractions are rounded to the nearest 10⁻⁹; durations become seconds. Undefined: the value is no number, or is beyond 10³⁰. */
export function decimalOf(value: unknown): bigint | undefined {
  const decimal = exactly(value);
  return decimal !== undefined && decimal <= magnitudeMax && decimal >= -magnitudeMax ? decimal : undefined;
}

function exactly(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value * decimalUnit;
  if (typeof value === 'number') return ofFraction(value);
  if (value instanceof Quantity) return value.nanos;
  if (value instanceof Duration) return value.seconds * decimalUnit + BigInt(value.nanos);
  return undefined;
}

function ofFraction(value: number): bigint | undefined {
  if (!Number.isFinite(value)) return undefined;
  if (Number.isInteger(value)) return BigInt(value) * decimalUnit;
  // toFixed is exact below 10²¹ (ECMA-262, 21.1.3.3), and numbers have no fraction from 2⁵³ on.
  const [whole = '', fraction = ''] = value.toFixed(decimalDigits).split('.');
  return BigInt(whole + fraction);
}

/** Divides. A result between two units is rounded to the nearest one, and a half is rounded away from zero. */
export function divideDecimal(value: bigint, by: number): bigint {
  const divisor = BigInt(by);
  const half = value < 0n ? -divisor / 2n : divisor / 2n;
  return (value + half) / divisor;
}

/** The decimal as text, for example `2.5` or `-3`. */
export function formatDecimal(value: bigint): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimalDigits + 1, '0');
  const fraction = digits.slice(-decimalDigits).replace(/0+$/, '');
  const sign = value < 0n ? '-' : '';
  return `${sign}${digits.slice(0, -decimalDigits)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The decimal for JSON: a number if all JSON parsers read it exactly, otherwise the decimal text. */
export function shownDecimal(value: bigint): number | string {
  const whole = value / decimalUnit;
  const isShort = value % decimalUnit === 0n && Number.isSafeInteger(Number(whole));
  return isShort ? Number(whole) : formatDecimal(value);
}

/** The inverse of `shownDecimal`. */
export function parseDecimal(shown: unknown): bigint | undefined {
  if (typeof shown === 'number') return decimalOf(shown);
  const parts = typeof shown === 'string' ? /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(shown) : null;
  if (!parts) return undefined;
  const [, sign, whole = '', fraction = ''] = parts;
  const digits = BigInt(whole + fraction.padEnd(decimalDigits, '0'));
  return sign === '-' ? -digits : digits;
}
