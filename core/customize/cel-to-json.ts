/** Converts the result of an expression to JSON. */
import { UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { CelError } from '../match/cel/cel-error.ts';
import { exactInteger } from '../object/json.ts';
import { setField } from '../object/json-value.ts';
import type { Json, JsonObject } from '../object/meta.ts';

/** Number of characters that a number, a boolean or the braces of an object count as. */
const scalarCharacters = 8;

/**
 * The value as JSON. Throws CelError for values that JSON does not have: durations, quantities, optional values, integers beyond 64 bits. Calls `grow` with a
 * number of characters for each part while the result grows, because a short expression can use a large value many times.
 */
export function celToJson(value: unknown, grow: (characters: number) => void): Json {
  grow(typeof value === 'string' ? value.length : scalarCharacters);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw unfit(`the number ${value}`);
      return value;
    case 'bigint':
      if (BigInt.asIntN(64, value) !== value) throw unfit(`the integer ${value}, beyond 64 bits`);
      return exactInteger(value);
    case 'object':
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((item) => celToJson(item, grow));
      if (value instanceof Set) return [...value].map((item) => celToJson(item, grow));
      if (value instanceof Map) return fieldsOf(value, grow);
      if (value instanceof UnsignedInt) return celToJson(value.value, grow);
      if (value instanceof Date) return value.toISOString().replace('.000Z', 'Z');
      if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
      if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
        return fieldsOf(Object.entries(value), grow);
      throw unfit(`a ${value.constructor.name}`);
    default:
      throw unfit(`a ${typeof value}`);
  }
}

function fieldsOf(entries: Iterable<[unknown, unknown]>, grow: (characters: number) => void): JsonObject {
  const fields: JsonObject = {};
  for (const [name, field] of entries) {
    grow(String(name).length);
    setField(fields, String(name), celToJson(field, grow));
  }
  return fields;
}

function unfit(what: string): CelError {
  return new CelError('evaluation', `gives ${what}, which a field can't hold; convert it with string()`);
}
