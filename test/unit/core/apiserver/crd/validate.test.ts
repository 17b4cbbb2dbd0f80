import { describe, expect, it } from 'vitest';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import { problems } from './support.ts';

function of(property: SchemaProps, value: unknown): string[] {
  return problems({ type: 'object', properties: { x: property } }, { x: value });
}

describe('a value that violates its schema is refused with the messages of the API server', () => {
  it.each<[string, SchemaProps, unknown, string]>([
    ['type', { type: 'integer' }, 'a', 'Invalid value: "string": spec.x in body must be of type integer: "string"'],
    [
      'type of a fraction',
      { type: 'integer' },
      1.5,
      'Invalid value: "number": spec.x in body must be of type integer: "number"',
    ],
    ['null', { type: 'string' }, null, 'Invalid value: "null": spec.x in body must be of type string: "null"'],
    [
      'object for list',
      { type: 'array', items: { type: 'string' } },
      {},
      'Invalid value: "object": spec.x in body must be of type array: "object"',
    ],
    [
      'int or string',
      { 'x-kubernetes-int-or-string': true },
      true,
      'Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
    ],
    [
      'pattern',
      { type: 'string', pattern: '^[A-Z]{3}$' },
      'eur',
      `Invalid value: "eur": spec.x in body should match '^[A-Z]{3}$'`,
    ],
    ['enum', { type: 'string', enum: ['a', 'b'] }, 'x', 'Unsupported value: "x": supported values: "a", "b"'],
    [
      'minimum',
      { type: 'integer', minimum: 1 },
      0,
      'Invalid value: 0: spec.x in body should be greater than or equal to 1',
    ],
    [
      'exclusive minimum',
      { type: 'integer', minimum: 1, exclusiveMinimum: true },
      1,
      'Invalid value: 1: spec.x in body should be greater than 1',
    ],
    [
      'maximum',
      { type: 'integer', maximum: 1 },
      2,
      'Invalid value: 2: spec.x in body should be less than or equal to 1',
    ],
    [
      'exclusive maximum',
      { type: 'number', maximum: 1, exclusiveMaximum: true },
      1,
      'Invalid value: 1: spec.x in body should be less than 1',
    ],
    ['multipleOf', { type: 'integer', multipleOf: 3 }, 4, 'Invalid value: 4: spec.x in body should be a multiple of 3'],
    [
      'minLength',
      { type: 'string', minLength: 2 },
      '🌳',
      'Invalid value: "🌳": spec.x in body should be at least 2 chars long',
    ],
    ['maxLength', { type: 'string', maxLength: 2 }, 'abc', 'Too long: may not be more than 2 bytes'],
    [
      'minItems',
      { type: 'array', minItems: 1, items: { type: 'string' } },
      [],
      'Invalid value: []: spec.x in body should have at least 1 items',
    ],
    [
      'maxItems',
      { type: 'array', maxItems: 1, items: { type: 'string' } },
      ['a', 'b'],
      'Too many: 2: must have at most 1 items',
    ],
    [
      'minProperties',
      { type: 'object', minProperties: 1, additionalProperties: { type: 'string' } },
      {},
      'Invalid value: {}: spec.x in body should have at least 1 properties',
    ],
    [
      'format',
      { type: 'string', format: 'date-time' },
      'noon',
      'Invalid value: "noon": spec.x in body must be of type date-time: "noon"',
    ],
    [
      'int32',
      { type: 'integer', format: 'int32' },
      3_000_000_000,
      'Invalid value: "integer": spec.x in body must be of type int32: "integer"',
    ],
  ])('%s', (_, schema, value, message) => {
    expect(of(schema, value)).toEqual([`spec.x: ${message}`]);
  });

  it('required fields are named if they are missing', () => {
    const schema: SchemaProps = { type: 'object', required: ['sku'], properties: { sku: { type: 'string' } } };
    expect(problems(schema, {})).toEqual(['spec.sku: Required value']);
    expect(of({ type: 'array', items: schema }, [{ sku: 'a' }, {}])).toEqual(['spec.x[1].sku: Required value']);
  });

  it('all errors are reported at once', () => {
    const schema: SchemaProps = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } } };
    expect(problems(schema, { a: 1, b: 'x' })).toHaveLength(2);
  });
});

describe('valid values are accepted', () => {
  it.each<[string, SchemaProps, unknown]>([
    ['null where it is allowed', { type: 'string', nullable: true }, null],
    ['a decimal multiple', { type: 'number', multipleOf: 0.1 }, 0.3],
    ['two code points of four units', { type: 'string', maxLength: 2 }, '🌳🌲'],
    ['a whole number written as a fraction', { type: 'number' }, 1],
    ['an unknown format', { type: 'string', format: 'colour' }, 'red'],
    ['a leap day', { type: 'string', format: 'date' }, '2028-02-29'],
    ['a time with a fraction', { type: 'string', format: 'date-time' }, '2030-01-01T10:00:00.5+02:00'],
    ['a duration', { type: 'string', format: 'duration' }, '1h30m'],
    ['a network', { type: 'string', format: 'cidr' }, '10.0.0.0/8'],
  ])('%s', (_, schema, value) => {
    expect(of(schema, value)).toEqual([]);
  });
});

describe('wrong formats are refused', () => {
  it.each([
    ['date', '2027-02-29'],
    ['ipv4', '256.1.1.1'],
    ['ipv6', '1.1.1.1'],
    ['cidr', '10.0.0.0/33'],
    ['uuid', 'abc'],
    ['byte', 'a?'],
    ['email', 'a@b@c'],
    ['hostname', '-a.example'],
    ['duration', '1 hour'],
    ['mac', '00:11:22:33:44'],
    ['uri', 'no uri'],
  ])('%s', (format, value) => {
    expect(of({ type: 'string', format }, value)).toHaveLength(1);
  });
});

describe('combinations', () => {
  const isA: SchemaProps = { required: ['a'] };
  const isB: SchemaProps = { required: ['b'] };
  const properties: Record<string, SchemaProps> = { a: { type: 'string' }, b: { type: 'string' } };

  it('anyOf reports the failure and the nearest reason', () => {
    const schema: SchemaProps = { type: 'object', properties, anyOf: [isA, isB] };
    expect(problems(schema, { a: '', b: '' })).toEqual([]);
    expect(problems(schema, {})).toEqual([
      'spec: Invalid value: "": "spec" must validate at least one schema (anyOf)',
      'spec.a: Required value',
    ]);
  });

  it('oneOf requires exactly one match', () => {
    const schema: SchemaProps = { type: 'object', properties, oneOf: [isA, isB] };
    expect(problems(schema, { a: '' })).toEqual([]);
    expect(problems(schema, { a: '', b: '' })).toEqual([
      'spec: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ]);
    expect(problems(schema, {})[0]).toContain('Found none valid');
  });

  it('allOf requires all, and not requires none', () => {
    expect(problems({ type: 'object', properties, allOf: [isA, isB] }, {})).toEqual([
      'spec.a: Required value',
      'spec.b: Required value',
      'spec: Invalid value: "": "spec" must validate all the schemas (allOf). None validated',
    ]);
    expect(problems({ type: 'object', properties, not: isA }, { a: '' })).toEqual([
      'spec: Invalid value: "": "spec" must not validate the schema (not)',
    ]);
  });
});

describe('lists', () => {
  it('of type set have no value twice', () => {
    const schema: SchemaProps = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } };
    expect(of(schema, ['a', 'b', 'a'])).toEqual(['spec.x[2]: Duplicate value: "a"']);
  });

  it('of type map have no keys twice', () => {
    const schema: SchemaProps = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      items: {
        type: 'object',
        required: ['port'],
        properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
      },
    };
    expect(
      of(schema, [
        { port: 1, protocol: 'TCP' },
        { port: 1, protocol: 'UDP' },
      ]),
    ).toEqual([]);
    expect(
      of(schema, [
        { port: 1, protocol: 'TCP' },
        { port: 1, protocol: 'TCP' },
      ]),
    ).toEqual(['spec.x[1]: Duplicate value: {"port":1,"protocol":"TCP"}']);
  });
});

describe('an embedded resource', () => {
  it('needs apiVersion and kind', () => {
    const schema: SchemaProps = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    };
    expect(of(schema, { apiVersion: 'v1' })).toEqual(['spec.x.kind: Required value']);
  });
});
