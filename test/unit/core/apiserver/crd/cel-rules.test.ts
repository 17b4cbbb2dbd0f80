import { describe, expect, it } from 'vitest';
import type { SchemaProps, ValidationRule } from '../../../../../core/apiserver/crd/definition.ts';
import { problems } from './support.ts';

function withRules(properties: Record<string, SchemaProps>, ...rules: ValidationRule[]): SchemaProps {
  return { type: 'object', properties, 'x-kubernetes-validations': rules };
}

const integer: SchemaProps = { type: 'integer' };
const string: SchemaProps = { type: 'string' };

describe('a rule', () => {
  const schema = withRules(
    { low: integer, high: integer },
    { rule: 'self.low <= self.high', message: 'low must not be above high' },
  );

  it('that holds gives no message', () => {
    expect(problems(schema, { low: 1, high: 2 })).toEqual([]);
  });

  it('that does not hold gives its message, with the type of the value', () => {
    expect(problems(schema, { low: 3, high: 2 })).toEqual([
      'spec: Invalid value: "object": low must not be above high',
    ]);
  });

  it('without a message is named itself', () => {
    expect(problems(withRules({ low: integer }, { rule: 'self.low > 0' }), { low: 0 })).toEqual([
      'spec: Invalid value: "object": failed rule: self.low > 0',
    ]);
  });

  it('that cannot be evaluated is an error', () => {
    expect(problems(schema, { low: 3 })).toEqual([
      'spec: Invalid value: "object": no such key: high evaluating rule: low must not be above high',
    ]);
  });

  it('may make its message from the value', () => {
    const rule = { rule: 'self.low > 0', message: 'fixed', messageExpression: '"low is " + string(self.low)' };
    expect(problems(withRules({ low: integer }, rule), { low: -1 })).toEqual([
      'spec: Invalid value: "object": low is -1',
    ]);
  });

  it('falls back to the fixed message when the expression gives none', () => {
    const rule = { rule: 'self.low > 0', message: 'fixed', messageExpression: '"  "' };
    expect(problems(withRules({ low: integer }, rule), { low: -1 })).toEqual(['spec: Invalid value: "object": fixed']);
  });

  it('may name a field and a reason', () => {
    const rule = { rule: 'has(self.low)', message: 'say how low', reason: 'FieldValueRequired', fieldPath: '.low' };
    expect(problems(withRules({ low: integer }, rule), {})).toEqual(['spec.low: Required value: say how low']);
  });

  it('is not evaluated for a value of the wrong type, and a cause says so', () => {
    expect(problems(schema, { low: 'x', high: 1 })).toEqual([
      'spec.low: Invalid value: "string": spec.low in body must be of type integer: "string"',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });

  it('may stand at any level, and reads integers, times, quantities and fields with unusual names', () => {
    const properties: Record<string, SchemaProps> = {
      list: { type: 'array', items: withRules({ n: integer }, { rule: 'self.n % 2 == 0', message: 'must be even' }) },
      map: {
        type: 'object',
        additionalProperties: {
          ...string,
          'x-kubernetes-validations': [{ rule: 'self.startsWith("a")', message: 'must begin with a' }],
        },
      },
      from: { type: 'string', format: 'date-time' },
      to: { type: 'string', format: 'date-time' },
      'a-b': integer,
      size: { 'x-kubernetes-int-or-string': true },
    };
    const schema = withRules(
      properties,
      { rule: 'self.from < self.to', message: 'must end after it begins' },
      { rule: 'self.a__dash__b == 1', message: 'a-b must be 1' },
      { rule: 'type(self.size) == int || isQuantity(self.size)', message: 'size must be a quantity' },
    );
    const value = {
      list: [{ n: 2 }, { n: 3 }],
      map: { k: 'b' },
      from: '2030-01-02T00:00:00Z',
      to: '2030-01-01T00:00:00Z',
      'a-b': 2,
      size: 'x',
    };
    expect(problems(schema, value)).toEqual([
      'spec: Invalid value: "object": must end after it begins',
      'spec: Invalid value: "object": a-b must be 1',
      'spec: Invalid value: "object": size must be a quantity',
      'spec.list[1]: Invalid value: "object": must be even',
      'spec.map[k]: Invalid value: "string": must begin with a',
    ]);
  });

  it('that costs too much is an error, after a short time', () => {
    const schema = withRules(
      { list: { type: 'array', items: integer } },
      { rule: 'self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))', message: 'sums' },
    );
    const list = Array.from({ length: 2000 }, (_, index) => index);
    expect(problems(schema, { list })).toEqual([
      'spec: Invalid value: "object": call cost exceeds limit for rule: sums',
    ]);
  });
});

describe('a transition rule', () => {
  const immutable: ValidationRule = { rule: 'self == oldSelf', message: 'can not be changed' };
  const schema: SchemaProps = {
    type: 'object',
    properties: { name: { ...string, 'x-kubernetes-validations': [immutable] } },
  };

  it('compares with the old value, and does not run without one', () => {
    expect(problems(schema, { name: 'b' })).toEqual([]);
    expect(problems(schema, { name: 'b' }, {})).toEqual([]);
    expect(problems(schema, { name: 'b' }, { name: 'b' })).toEqual([]);
    expect(problems(schema, { name: 'b' }, { name: 'a' })).toEqual([
      'spec.name: Invalid value: "string": can not be changed',
    ]);
  });

  it('compares whole objects by value', () => {
    const schema: SchemaProps = {
      ...withRules(
        { list: { type: 'array', items: { type: 'object', properties: { n: integer } } }, name: string },
        immutable,
      ),
    };
    const value = { list: [{ n: 1 }, { n: 2 }], name: 'a' };
    expect(problems(schema, value, structuredClone(value))).toEqual([]);
    expect(problems(schema, { ...value, list: [{ n: 1 }, { n: 3 }] }, value)).toEqual([
      'spec: Invalid value: "object": can not be changed',
    ]);
  });

  it('finds the old item of a list of type map by its keys', () => {
    const list: SchemaProps = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key'],
      items: {
        type: 'object',
        required: ['key'],
        properties: { key: string, size: { ...integer, 'x-kubernetes-validations': [immutable] } },
      },
    };
    const of = (...items: [string, number][]) => ({ list: items.map(([key, size]) => ({ key, size })) });
    const schema: SchemaProps = { type: 'object', properties: { list } };
    expect(problems(schema, of(['b', 2], ['a', 1]), of(['a', 1], ['b', 2]))).toEqual([]);
    expect(problems(schema, of(['b', 3], ['a', 1]), of(['a', 1], ['b', 2]))).toEqual([
      'spec.list[0].size: Invalid value: "integer": can not be changed',
    ]);
  });

  it('with an optional old value is evaluated on creation too', () => {
    const rule = { rule: 'oldSelf.hasValue() || self == 0', message: 'begins at 0', optionalOldSelf: true };
    const schema: SchemaProps = {
      type: 'object',
      properties: { count: { ...integer, 'x-kubernetes-validations': [rule] } },
    };
    expect(problems(schema, { count: 1 })).toEqual(['spec.count: Invalid value: "integer": begins at 0']);
    expect(problems(schema, { count: 1 }, { count: 0 })).toEqual([]);
  });
});
