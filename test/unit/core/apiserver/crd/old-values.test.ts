/** A schema that has become stricter: parts of an object that do not change are not refused. */
import { describe, expect, it } from 'vitest';
import { customKind } from '../../../../../core/apiserver/crd/custom-kind.ts';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import { board, boards, problems } from './support.ts';

const colour: SchemaProps = { type: 'string', enum: ['green'] };
const entry: SchemaProps = { type: 'object', properties: { name: { type: 'string' }, colour } };
const refused = 'Unsupported value: "red": supported values: "green"';

describe('a value that the schema does not allow', () => {
  it('stays while it does not change', () => {
    const schema: SchemaProps = { type: 'object', properties: { colour, size: { type: 'integer', maximum: 3 } } };
    expect(problems(schema, { colour: 'red', size: 1 }, { colour: 'red' })).toEqual([]);
    expect(problems(schema, { colour: 'red', size: 4 }, { colour: 'red', size: 5 })).toEqual([
      'spec.size: Invalid value: 4: spec.size in body should be less than or equal to 3',
    ]);
    expect(problems(schema, { colour: 'red' }, { colour: 'blue' })).toEqual([`spec.colour: ${refused}`]);
    expect(problems(schema, { colour: 'red' }, {})).toEqual([`spec.colour: ${refused}`]);
  });

  it('stays in an object that lacks a new required field, while the object does not change', () => {
    const schema: SchemaProps = {
      type: 'object',
      properties: { part: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, n: colour } } },
    };
    expect(problems(schema, { part: { n: 'green' } }, { part: { n: 'green' } })).toEqual([]);
    expect(problems(schema, { part: { n: 'green' } }, { part: {} })).toEqual(['spec.part.name: Required value']);
  });

  it('is found again by its keys in a list of type map, and nowhere in other lists', () => {
    const map: SchemaProps = {
      type: 'array',
      items: { ...entry, required: ['name'] },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    };
    const [a, b] = [
      { name: 'a', colour: 'red' },
      { name: 'b', colour: 'green' },
    ];
    expect(problems(map, [b, a], [a])).toEqual([]);
    expect(problems({ type: 'array', items: entry }, [b, a], [a])).toEqual([`spec[1].colour: ${refused}`]);
    expect(problems({ type: 'array', items: entry }, [a], [a])).toEqual([]);
  });
});

describe('a rule that does not hold', () => {
  const part: SchemaProps = {
    type: 'object',
    properties: { name: { type: 'string' } },
    'x-kubernetes-validations': [{ rule: 'self.name != "x"', message: 'not x' }],
  };
  const schema: SchemaProps = { type: 'object', properties: { part, other: { type: 'integer' } } };
  const validate = (spec: object, old: object) => {
    const warnings: string[] = [];
    const context = { warn: (text: string) => warnings.push(text) };
    const causes = customKind(boards(schema)).rules.validate(board(spec), 'v1', board(old), context);
    return { causes: causes.map(({ message }) => message), warnings };
  };

  it('is a warning for a part that does not change', () => {
    const old = { part: { name: 'x' } };
    expect(validate({ ...old, other: 1 }, old)).toEqual({
      causes: [],
      warnings: ['spec.part: Invalid value: "object": not x'],
    });
    expect(validate({ part: { name: 'x' } }, { part: { name: 'y' } })).toEqual({
      causes: ['Invalid value: "object": not x'],
      warnings: [],
    });
  });

  it('is a warning too below a list whose items have no old values, while the list does not change', () => {
    const items: SchemaProps = { type: 'array', items: part };
    const rules = customKind(boards({ type: 'object', properties: { items, n: { type: 'integer' } } })).rules;
    const old = { items: [{ name: 'x' }] };
    expect(rules.validate(board({ ...old, n: 1 }), 'v1', board(old))).toEqual([]);
    expect(rules.validate(board({ items: [{ name: 'x' }, { name: 'z' }] }), 'v1', board(old))).toHaveLength(1);
  });

  it('is refused if the rule compares with the old value', () => {
    const fixed: SchemaProps = {
      type: 'object',
      'x-kubernetes-validations': [{ rule: 'self == oldSelf && false' }],
      properties: { a: { type: 'string' } },
    };
    expect(problems(fixed, { a: 'a' }, { a: 'a' })).toHaveLength(1);
  });
});

it('a write of the status is not refused for the spec', () => {
  const definition = boards({ type: 'object', required: ['name'], properties: { name: { type: 'string' } } });
  const { rules } = customKind(definition);
  const [old, next] = [board({}), { ...board({}), status: { a: 1 } }];
  expect(rules.validate(next, 'v1', old, { subresource: 'status' })).toEqual([]);
  expect(rules.validate({ ...next, spec: { a: 1 } }, 'v1', old)).toHaveLength(1);
});
