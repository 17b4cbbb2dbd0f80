import { expect, it } from 'vitest';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import { problems } from './support.ts';

const set: SchemaProps = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' };
const map: SchemaProps = {
  type: 'array',
  items: { type: 'object', properties: { name: { type: 'string' }, port: { type: 'integer' } } },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name', 'port'],
};

it('an item that occurs three times is reported once', () => {
  expect(problems(set, ['a', 'b', 'a', 'a'])).toEqual(['spec[2]: Duplicate value: "a"']);
});

it('items of a map are compared by their keys alone', () => {
  const items = [
    { name: 'a', port: 1, note: 'x' },
    { name: 'a', port: 2 },
    { name: 'a', port: 1 },
  ];
  expect(problems(map, items)).toEqual(['spec[2]: Duplicate value: {"name":"a","port":1}']);
});

it('lists in maps and in items are checked, with the keys of maps in brackets', () => {
  const schema: SchemaProps = { type: 'object', properties: { by: { type: 'object', additionalProperties: set } } };
  expect(problems(schema, { by: { left: ['a', 'a'] } })).toEqual(['spec.by[left][1]: Duplicate value: "a"']);
  expect(problems({ type: 'array', items: set }, [['a'], ['b', 'b']])).toEqual(['spec[1][1]: Duplicate value: "b"']);
});

it('an object that already had doubled items may keep them', () => {
  const schema: SchemaProps = { type: 'object', properties: { tags: set, n: { type: 'integer' } } };
  expect(problems(schema, { tags: ['a', 'a'], n: 1 }, { tags: ['a', 'a'] })).toEqual([]);
  expect(problems(schema, { tags: ['a', 'a'] }, { tags: ['a'] })).toEqual(['spec.tags[1]: Duplicate value: "a"']);
});
