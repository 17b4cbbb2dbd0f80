/**
 * Integers that a double can't hold. Kubernetes keeps 64 bits of one; a program in JavaScript would store 9007199254740993 as 9007199254740992 and
 * say nothing. They are refused: what is kept is what was said.
 */
import { BanyanError } from '../runtime/errors.ts';
import { type JsonTextStep, tokensOf } from './json-text.ts';

const longNumber = /\d{16}/;
/** Most texts have none, and cost no more than this. */
export function mayHaveLongInteger(text: string): boolean {
  return longNumber.test(text);
}

/** As JSON.parse, which throws SyntaxError; throws BadRequest with the place of the first integer that is not what that makes of it. */
export function parseExactJson(json: string): unknown {
  const value: unknown = JSON.parse(json);
  if (mayHaveLongInteger(json)) checkIntegers(json);
  return value;
}

/** Of what is JSON. */
function checkIntegers(json: string): void {
  for (const { found, steps } of tokensOf(json)) if (isChanged(found)) throw inexact(steps, found);
}

/** Throws BadRequest if it is none; `steps`: its place, as far as that is known. */
export function exactNumber(value: bigint, steps: readonly JsonTextStep[] = []): number {
  if (isChanged(String(value))) throw inexact(steps, String(value));
  return Number(value);
}

/** A value with integers as BigInt, as a YAML parser gives them, with numbers; throws BadRequest with the place of the first one that is none. */
export function exactNumbers(value: unknown, steps: readonly JsonTextStep[] = []): unknown {
  if (typeof value === 'bigint') return exactNumber(value, steps);
  if (Array.isArray(value)) return value.map((item, i) => exactNumbers(item, [...steps, i]));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, exactNumbers(field, [...steps, name])]),
  );
}

/** Of a literal: fractions and exponents are doubles everywhere. */
function isChanged(literal: string): boolean {
  return /^-?\d+$/.test(literal) && Number(literal) !== 0 && String(Number(literal)) !== literal;
}

/** A literal may be as long as a body. */
const shownDigits = 64;

function inexact(steps: readonly JsonTextStep[], literal: string): BanyanError {
  const place = steps.length > 0 ? `${steps.join('.')}: ` : '';
  const shown = literal.length <= shownDigits ? literal : `${literal.slice(0, shownDigits)}…`;
  const message = `${place}the integer ${shown} can't be kept exactly, it would become ${Number(literal)}: put it in as a text`;
  return new BanyanError('BadRequest', message);
}
