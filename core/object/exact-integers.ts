/**
 * Refuses integers that a double can't hold. Kubernetes keeps integers of 64 bits, but a JavaScript program would store 9007199254740993 as
 * 9007199254740992 without an error. Because of the refusal, a stored integer is always the integer that the user wrote.
 */
import { BanyanError } from '../runtime/errors.ts';
import { type JsonTextStep, tokensOf } from './json-text.ts';

const longNumber = /\d{16}/;
/** A quick first test. Most texts have no long integer, so they need no further check. */
export function mayHaveLongInteger(text: string): boolean {
  return longNumber.test(text);
}

/** Parses like JSON.parse, and throws the same SyntaxError. Throws BadRequest with the place of the first integer that JSON.parse would change. */
export function parseExactJson(json: string): unknown {
  const value: unknown = JSON.parse(json);
  if (mayHaveLongInteger(json)) checkIntegers(json);
  return value;
}

/** Requires valid JSON. */
function checkIntegers(json: string): void {
  for (const { found, steps } of tokensOf(json)) if (isChanged(found)) throw inexact(steps, found);
}

/** The value as a number. Throws BadRequest if a double can't hold the value. `steps` is the place of the value, as far as the caller knows the place. */
export function exactNumber(value: bigint, steps: readonly JsonTextStep[] = []): number {
  if (isChanged(String(value))) throw inexact(steps, String(value));
  return Number(value);
}

/** Converts the BigInts of a YAML parser to numbers. Throws BadRequest with the place of the first integer that a double can't hold. */
export function exactNumbers(value: unknown, steps: readonly JsonTextStep[] = []): unknown {
  if (typeof value === 'bigint') return exactNumber(value, steps);
  if (Array.isArray(value)) return value.map((item, i) => exactNumbers(item, [...steps, i]));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, exactNumbers(field, [...steps, name])]),
  );
}

/** True if a double would change this integer literal. False for fractions and exponents: every program reads them as doubles. */
function isChanged(literal: string): boolean {
  return /^-?\d+$/.test(literal) && Number(literal) !== 0 && String(Number(literal)) !== literal;
}

/** Number of digits of a literal that a message shows. A literal may be as long as the whole body. */
const shownDigits = 64;

function inexact(steps: readonly JsonTextStep[], literal: string): BanyanError {
  const place = steps.length > 0 ? `${steps.join('.')}: ` : '';
  const shown = literal.length <= shownDigits ? literal : `${literal.slice(0, shownDigits)}…`;
  const message = `${place}the integer ${shown} can't be kept exactly, it would become ${Number(literal)}: write it as a string`;
  return new BanyanError('BadRequest', message);
}
