/** Prepares a structural schema for CEL: the type of its values, and the conversion of values. */

import { Duration } from '@marcbachmann/cel-js/evaluator';
import type { CelType } from '../../match/cel/cel.ts';
import { type CelValue, celFieldName, celValue } from '../../match/cel/values.ts';
import { isWhole } from '../../object/json.ts';
import { ownField } from '../../object/json-value.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { SchemaProps } from './definition.ts';

const resourceFields = {
  apiVersion: 'string',
  kind: 'string',
  metadata: { fields: { name: 'string', generateName: 'string' } },
} as const;

/** `isResource` is true for the root and for an embedded resource. Expressions can read their apiVersion, kind, metadata.name and metadata.generateName. */
export function celType(schema: SchemaProps, isResource = schema['x-kubernetes-embedded-resource'] === true): CelType {
  if (schema['x-kubernetes-int-or-string']) return 'dyn';
  switch (schema.type) {
    case 'array':
      return { list: celType(schema.items ?? {}) };
    case 'object':
      return objectType(schema, isResource);
    case 'boolean':
      return 'bool';
    case 'integer':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return ownField(stringTypes, schema.format ?? '') ?? 'string';
    default:
      return 'dyn';
  }
}

const stringTypes: Readonly<Record<string, CelType>> = {
  'date-time': 'timestamp',
  date: 'timestamp',
  duration: 'duration',
  byte: 'bytes',
};

function objectType(schema: SchemaProps, isResource: boolean): CelType {
  if (!isResource && typeof schema.additionalProperties === 'object')
    return { map: celType(schema.additionalProperties) };
  // Expressions can't read unknown fields, also if the object keeps them.
  const fields: Record<string, CelType> = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const escaped = celFieldName(name);
    if (escaped !== undefined) fields[escaped] = celType(property);
  }
  return { fields: isResource ? { ...fields, ...resourceFields } : fields };
}

export type Convert = (value: unknown) => CelValue;

/**
 * Compiles the conversion of a value; call it once per schema. The value must be valid by the schema. null stays null. `only` has the needed fields of an
 * object, by their names in expressions. Undefined: all fields.
 */
export function celConverter(
  schema: SchemaProps,
  isResource = schema['x-kubernetes-embedded-resource'] === true,
  only?: ReadonlySet<string>,
): Convert {
  const convert = schema.type === 'object' ? objectConverter(schema, isResource, only) : nonNullConverter(schema);
  return (value) => (value === null || value === undefined ? null : convert(value));
}

function nonNullConverter(schema: SchemaProps): Convert {
  if (schema['x-kubernetes-int-or-string']) return celValue;
  switch (schema.type) {
    case 'array': {
      const item = celConverter(schema.items ?? {});
      return (value) => (Array.isArray(value) ? value.map(item) : null);
    }
    case 'integer':
      return (value) => (isWhole(value) ? BigInt(value) : null);
    case 'number':
      return (value) => (typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null);
    case 'string':
      return stringConverter(schema.format);
    default:
      return celValue;
  }
}

function objectConverter(schema: SchemaProps, isResource: boolean, only: ReadonlySet<string> | undefined): Convert {
  if (!isResource && typeof schema.additionalProperties === 'object') return mapConverter(schema.additionalProperties);
  if (!isResource && !schema.properties && schema['x-kubernetes-preserve-unknown-fields']) return celValue;
  const fields = new Map<string, readonly [escaped: string, convert: Convert]>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const escaped = celFieldName(name);
    if (escaped !== undefined && (only?.has(escaped) ?? true)) fields.set(name, [escaped, celConverter(property)]);
  }
  if (isResource) {
    fields.set('apiVersion', ['apiVersion', celValue]).set('kind', ['kind', celValue]);
    fields.set('metadata', ['metadata', metadataValue]);
  }
  return (value) => {
    if (!isRecord(value)) return null;
    const map = new Map<string, CelValue>();
    for (const name in value) {
      const field = fields.get(name);
      if (field) map.set(field[0], field[1](value[name]));
    }
    return map;
  };
}

function mapConverter(values: SchemaProps): Convert {
  const convert = celConverter(values);
  return (value) =>
    isRecord(value) ? new Map(Object.entries(value).map(([key, item]) => [key, convert(item)])) : null;
}

function metadataValue(value: unknown): CelValue {
  const map = new Map<string, CelValue>();
  if (!isRecord(value)) return map;
  for (const name of ['name', 'generateName']) {
    const text = value[name];
    if (typeof text === 'string') map.set(name, text);
  }
  return map;
}

function stringConverter(format: string | undefined): Convert {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  switch (format) {
    case 'date-time':
    case 'date':
      return (value) => new Date(text(value));
    case 'byte':
      return (value) => Uint8Array.from(Buffer.from(text(value), 'base64'));
    case 'duration':
      return (value) => Duration.fromMilliseconds(durationMs(text(value)));
    default:
      return text;
  }
}

const unitMs: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ns: 1e-6,
};

/** The milliseconds of a duration in Go's form, for example `1h30m`. */
function durationMs(text: string): number {
  let ms = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g))
    ms += Number(number) * (ownField(unitMs, unit!) ?? 0);
  return text.startsWith('-') ? -ms : ms;
}
