/**
 * Reads and writes the JSON of objects. Kubernetes keeps integers of 64 bits, and a double holds only integers up to 2^53 exactly. An integer that a double
 * would change is a bigint here, so every object keeps the digits that its author wrote. All other numbers are numbers: JSON.parse and JSON.stringify do
 * nearly all of the work.
 */

import { BanyanError } from '../runtime/errors.ts';
import { isRecord } from '../runtime/is-record.ts';
import { type JsonTextStep, tokensOf } from './json-text.ts';
import { ownField, setField } from './json-value.ts';

/** Parses like JSON.parse, and throws the same SyntaxError. Integers beyond 64 bits become doubles, as in Go. */
export function parseJson(json: string): unknown {
  const value: unknown = JSON.parse(json);
  return mayHaveLongInteger(json) ? withLongIntegers(json, value, () => {}) : value;
}

/** Parses like `parseJson`. Throws BadRequest with the place of the first integer that neither a double nor 64 bits hold. */
export function parseExactJson(json: string): unknown {
  const value: unknown = JSON.parse(json);
  return mayHaveLongInteger(json) ? withLongIntegers(json, value, refuse) : value;
}

/** Writes like JSON.stringify, without spaces. `undefined` for values that JSON does not have. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // JSON.stringify refuses bigints. To look for them first would cost as much as the writing.
    if (error instanceof TypeError) return writtenOut(value)!;
    throw error;
  }
}

/** The integer as it is in objects: a number if a double holds it. Throws BadRequest if it has more than 64 bits. `steps`: its place, as far as known. */
export function exactInteger(value: bigint, steps: readonly JsonTextStep[] = []): number | bigint {
  if (!isChanged(String(value))) return Number(value);
  if (BigInt.asIntN(64, value) !== value) refuse(steps, String(value));
  return value;
}

/** Turns the BigInts of a YAML parser into the integers of objects. Throws like `exactInteger`. */
export function exactIntegers(value: unknown, steps: readonly JsonTextStep[] = []): unknown {
  if (typeof value === 'bigint') return exactInteger(value, steps);
  if (Array.isArray(value)) return value.map((item, i) => exactIntegers(item, [...steps, i]));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, exactIntegers(field, [...steps, name])]),
  );
}

/** True for every number of an object. */
export function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** True for every integer of an object. */
export function isWhole(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isInteger(value);
}

/** Digits of the shortest integer that a double does not hold. */
const longDigits = 16;
/** Length of the longest integer of 64 bits, with its sign. A literal may have millions of digits, and to make a bigint of three million takes half a second. */
const integerLengthMax = 20;

/**
 * Whether a number of the text has so many digits in a row. Looks only at every sixteenth character: of sixteen digits in a row, one is among them. A search
 * by a regular expression costs a fifth of the parsing, this one a hundredth.
 */
function mayHaveLongInteger(text: string): boolean {
  for (let at = longDigits - 1; at < text.length; at += longDigits) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let from = at;
    while (isDigit(text.charCodeAt(from - 1))) from--;
    let to = at + 1;
    while (isDigit(text.charCodeAt(to))) to++;
    if (to - from >= longDigits) return true;
    at = to;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Puts the integers that JSON.parse has changed into the value. `beyond` is called for integers of more than 64 bits. */
function withLongIntegers(
  json: string,
  value: unknown,
  beyond: (steps: readonly JsonTextStep[], literal: string) => void,
): unknown {
  const root = { value };
  for (const { found, steps } of tokensOf(json)) {
    if (found.length < longDigits || found.startsWith('"')) continue;
    const integer = integerOf(found);
    if (integer === undefined) beyond(steps, found);
    else replaceNumber(root, ['value', ...steps], Number(found), integer);
  }
  return root.value;
}

/** Undefined for an integer of more than 64 bits that a double would change. */
function integerOf(literal: string): number | bigint | undefined {
  if (!isChanged(literal)) return Number(literal);
  if (literal.length > integerLengthMax) return undefined;
  const integer = BigInt(literal);
  return BigInt.asIntN(64, integer) === integer ? integer : undefined;
}

/**
 * Replaces a number at its place. A text may have a field twice, and only the last one is in the value. So the place may have another value, or may not
 * exist, and the last number of the same size stays.
 */
function replaceNumber(root: object, steps: readonly JsonTextStep[], read: number, integer: number | bigint): void {
  let parent: unknown = root;
  for (const step of steps.slice(0, -1)) parent = childOf(parent, step);
  const last = steps.at(-1)!;
  const there = childOf(parent, last);
  if (typeof there !== 'number' && typeof there !== 'bigint') return;
  if (Number(there) === read) setField(parent as Record<string, unknown>, String(last), integer);
}

function childOf(parent: unknown, step: JsonTextStep): unknown {
  if (Array.isArray(parent)) return parent[step as number];
  return isRecord(parent) ? ownField(parent, String(step)) : undefined;
}

/** True if a double would change this integer literal. False for fractions and exponents: every program reads them as doubles. */
function isChanged(literal: string): boolean {
  return /^-?\d+$/.test(literal) && Number(literal) !== 0 && String(Number(literal)) !== literal;
}

function writtenOut(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => writtenOut(item) ?? 'null').join(',')}]`;
  const fields: string[] = [];
  for (const [name, field] of Object.entries(value)) {
    const text = writtenOut(field);
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}

/** Number of digits of a literal that a message shows. A literal may be as long as the whole body. */
const shownDigits = 64;

function refuse(steps: readonly JsonTextStep[], literal: string): never {
  const place = steps.length > 0 ? `${steps.join('.')}: ` : '';
  const shown = literal.length <= shownDigits ? literal : `${literal.slice(0, shownDigits)}…`;
  const message = `${place}the integer ${shown} has more than 64 bits, it would become ${Number(literal)}: write it as a string`;
  throw new BanyanError('BadRequest', message);
}
