/**
 * Checks JSON against a built-in type like Go's decoder: what typed clients can't decode is refused, because one such object would break every list and watch
 * of its kind. Unknown fields are returned.
 */

import { isNumber, isWhole, jsonText } from '../../object/json.ts';
import { ownField } from '../../object/json-value.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { goTypeOf, Undecodable } from '../decoding.ts';
import type { FieldType, ScalarType } from '../schema.ts';
import { textMistake } from './scalar-texts.ts';

/** Bounds the stack. No built-in type is nested this deeply. */
const depthMax = 64;

/**
 * Returns the paths of unknown fields. Throws BadRequest if Go could not decode the value, with the message of Go. A mistake that `old`, the stored object, has
 * at the same place is no error: an earlier version of the program may have stored it, and other parts of the object have to remain changeable.
 */
export function checkTypes(
  value: unknown,
  type: FieldType,
  of: { kind: string; version: string },
  old?: unknown,
): string[] {
  const { unknown, mistakes } = decoded(value, type, of.kind);
  if (mistakes.size === 0) return unknown;
  const before = old === undefined ? undefined : decoded(old, type, of.kind).mistakes;
  const added = [...mistakes].filter(([path, { message }]) => before?.get(path)?.message !== message);
  const [field, first] = added.find(([, { isFinal }]) => isFinal) ?? added[0] ?? [];
  if (!first) return unknown;
  const { kind, version } = of;
  throw new BanyanError(
    'BadRequest',
    `${kind} in version "${version}" cannot be handled as a ${kind}: ${first.message}`,
    {},
    { cause: new Undecodable(first.message, { field, restoring: first.restoring }) },
  );
}

/** The findings of the decoder. The mistakes are in the order of the fields, by their paths. */
interface Decoded {
  readonly unknown: string[];
  readonly mistakes: Map<string, Mistake>;
}

interface Mistake {
  readonly message: string;
  /** The words of the other decoder of Kubernetes, which restores the result of a strategic merge patch. */
  readonly restoring: string;
  /** Go ends at such a mistake, and goes on after others. So it names this one, whatever comes before. */
  readonly isFinal: boolean;
}

interface Walk extends Decoded {
  /** The Go struct that has the present field. */
  readonly struct: string;
  /** The path of the present field without indexes and keys, as Go names it. */
  readonly field: string;
}

function decoded(value: unknown, type: FieldType, kind: string): Decoded {
  const found: Decoded = { unknown: [], mistakes: new Map() };
  walk(value, type, '', { ...found, struct: kind, field: '' }, 0);
  return found;
}

function walk(value: unknown, type: FieldType, path: string, into: Walk, depth: number): void {
  if (depth > depthMax) {
    throw new BanyanError('BadRequest', `${path} is nested more than ${depthMax} levels deep`);
  }
  if (value === null || value === undefined) return;
  const mistake = mistakeIn(value, type, into);
  if (mistake !== undefined) {
    into.mistakes.set(path, {
      message: mistake,
      restoring: restoring(value, type, mistake),
      isFinal: isReadByItself(type),
    });
    return;
  }
  switch (type.type) {
    case 'object': {
      const struct = shortName(type.name);
      for (const [name, inner] of Object.entries(value)) {
        const field = type.field(name);
        const at = path === '' ? name : `${path}.${name}`;
        const here = { ...into, struct, field: into.field === '' ? name : `${into.field}.${name}` };
        if (field) walk(inner, field.type, at, here, depth + 1);
        else into.unknown.push(at);
      }
      return;
    }
    case 'list':
      for (const [i, item] of (value as unknown[]).entries()) walk(item, type.items, `${path}[${i}]`, into, depth + 1);
      return;
    case 'map':
      for (const [name, inner] of Object.entries(value)) walk(inner, type.values, `${path}.${name}`, into, depth + 1);
  }
}

/** Why Go can't decode the value itself. Undefined: it can. */
function mistakeIn(value: unknown, type: FieldType, at: Walk): string | undefined {
  const mismatch = () =>
    `json: cannot unmarshal ${shownType(value, type)} into Go struct field ${at.struct}.${at.field} of type ${goType(type)}`;
  switch (type.type) {
    case 'object':
    case 'map':
      return isRecord(value) ? undefined : mismatch();
    case 'list':
      return Array.isArray(value) ? undefined : mismatch();
    case 'any':
      return undefined;
    default:
      return scalarMistake(value, type, mismatch);
  }
}

/** Kubernetes converts integers only to numbers and texts, although it can't do the latter. */
function restoring(value: unknown, type: FieldType, mistake: string): string {
  const from = isNumber(value) ? (isWhole(value) ? 'int64' : 'float64') : kindOf(value);
  switch (type.type) {
    case 'object':
      return `cannot restore struct from: ${from}`;
    case 'map':
      return `cannot restore map from ${from}`;
    case 'list':
      return `cannot restore slice from ${from}`;
    case 'intOrString':
      return `json: cannot unmarshal ${shownType(value, type)} into Go value of type int32`;
    case 'boolean':
      return 'unrecognized type: bool';
    case 'integer':
    case 'number':
      return isNumber(value) ? `cannot convert ${from} to ${goType(type)}` : `unrecognized type: ${goType(type)}`;
    case 'string':
      return restoringText(value, type, mistake, from);
    default:
      return mistake;
  }
}

function restoringText(value: unknown, { format }: ScalarType, mistake: string, from: string): string {
  if (format === 'byte')
    return typeof value === 'string' ? `error decoding from json: ${mistake}` : `cannot restore slice from ${from}`;
  if (format === 'date-time' || format === 'micro-time') {
    return typeof value === 'string'
      ? mistake
      : `json: cannot unmarshal ${goTypeOf(value)} into Go value of type string`;
  }
  return from === 'int64' ? 'cannot convert int64 to string' : 'unrecognized type: string';
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'slice';
  return typeof value === 'object' ? 'map' : typeof value === 'boolean' ? 'bool' : typeof value;
}

const int32Max = 2_147_483_647;

function scalarMistake(value: unknown, type: ScalarType, mismatch: () => string): string | undefined {
  const { format = type.type } = type;
  switch (type.type) {
    case 'string':
      return typeof value === 'string' ? textMistake(format, value) : mismatch();
    case 'boolean':
      return typeof value === 'boolean' ? undefined : mismatch();
    case 'integer':
      return isInteger(value, format) ? undefined : mismatch();
    case 'number':
      return isNumber(value) ? undefined : mismatch();
    case 'intOrString':
      return typeof value === 'string' || isInteger(value, 'int32') ? undefined : mismatch();
    case 'quantity':
      return textMistake('quantity', typeof value === 'string' ? value : jsonText(value));
  }
}

/** True for types that have a decoder of their own in Go. */
function isReadByItself(type: FieldType): boolean {
  if (type.type === 'string') return type.format === 'date-time' || type.format === 'micro-time';
  return type.type === 'quantity' || type.type === 'intOrString';
}

function isInteger(value: unknown, format: string): boolean {
  if (format !== 'int32') return isWhole(value);
  return Number.isInteger(value) && (Math.abs(value as number) <= int32Max || value === -int32Max - 1);
}

/** Go shows only numbers that do not fit into a number. */
function shownType(value: unknown, { type }: FieldType): string {
  const isNumeric = type === 'integer' || type === 'number' || type === 'intOrString';
  return isNumber(value) && isNumeric ? `number ${jsonText(value)}` : goTypeOf(value);
}

const goTypes: Readonly<Record<string, string>> = {
  'date-time': 'string',
  'micro-time': 'string',
  string: 'string',
  boolean: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
  byte: '[]uint8',
};

function goType(type: FieldType): string {
  switch (type.type) {
    case 'list':
      return `[]${goType(type.items)}`;
    case 'map':
      return `map[string]${goType(type.values)}`;
    case 'object':
      return type.name?.split('.').slice(-2).join('.') ?? 'object';
    case 'any':
      return 'interface {}';
    case 'quantity':
      return 'resource.Quantity';
    case 'intOrString':
      return 'int32';
    default:
      return ownField(goTypes, type.format ?? type.type) ?? type.type;
  }
}

function shortName(name: string | undefined): string {
  return name?.split('.').at(-1) ?? '';
}
