/** Checks JSON against a built-in type like Go's decoder. A field of the wrong type is an error. Unknown fields are returned. */
import { BanyanError } from '../../runtime/errors.ts';
import type { FieldType } from '../schema.ts';

/** Bounds the stack. No built-in type is nested this deeply. */
const depthMax = 64;

/** Returns the paths of unknown fields. Throws BadRequest if a value has the wrong type, with the message of Go's decoder. */
export function checkTypes(value: unknown, type: FieldType, of: { kind: string; version: string }): string[] {
  const unknown: string[] = [];
  walk(value, type, '', { ...of, unknown }, 0);
  return unknown;
}

interface Walk {
  readonly kind: string;
  readonly version: string;
  readonly unknown: string[];
}

function walk(value: unknown, type: FieldType, path: string, into: Walk, depth: number): void {
  if (depth > depthMax)
    throw new BanyanError('BadRequest', `${into.kind}: ${path} is nested more than ${depthMax} levels deep`);
  if (value === null || value === undefined) return;
  switch (type.type) {
    case 'object': {
      const record = expectRecord(value, type.name ?? 'object', path, into);
      for (const [name, inner] of Object.entries(record)) {
        const field = type.field(name);
        const at = path === '' ? name : `${path}.${name}`;
        if (field) walk(inner, field.type, at, into, depth + 1);
        else into.unknown.push(at);
      }
      return;
    }
    case 'list': {
      if (!Array.isArray(value)) throw mismatch(value, '[]', path, into);
      for (const [i, item] of value.entries()) walk(item, type.items, `${path}[${i}]`, into, depth + 1);
      return;
    }
    case 'map': {
      for (const [name, inner] of Object.entries(expectRecord(value, 'map[string]', path, into))) {
        walk(inner, type.values, `${path}.${name}`, into, depth + 1);
      }
      return;
    }
    case 'any':
      return;
    default:
      if (!isScalar(value, type.type))
        throw mismatch(value, goTypes[type.format ?? type.type] ?? type.type, path, into);
  }
}

function isScalar(value: unknown, type: string): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return typeof value === 'number';
    case 'intOrString':
      return typeof value === 'string' || Number.isInteger(value);
    default:
      return typeof value === 'string' || typeof value === 'number';
  }
}

const goTypes: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
  byte: '[]uint8',
  'date-time': 'v1.Time',
  quantity: 'resource.Quantity',
  intOrString: 'intstr.IntOrString',
};

function expectRecord(value: unknown, what: string, path: string, into: Walk): Record<string, unknown> {
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  throw mismatch(value, what.split('.').slice(-2).join('.'), path, into);
}

/** Number of characters of a value that a message shows. A value may be as large as an object. */
const shownCharactersMax = 64;

function mismatch(value: unknown, expected: string, path: string, { kind, version }: Walk): BanyanError {
  const actual = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  const text = JSON.stringify(value);
  const shown = text.length <= shownCharactersMax ? text : `${text.slice(0, shownCharactersMax)}…`;
  const message = `${kind} in version "${version}" cannot be handled as a ${kind}: json: cannot unmarshal ${actual} ${shown} into Go struct field .${path} of type ${expected}`;
  return new BanyanError('BadRequest', message);
}
