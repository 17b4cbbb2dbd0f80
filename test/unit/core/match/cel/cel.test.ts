import { describe, expect, it } from 'vitest';
import { type CelType, compileCel } from '../../../../../core/match/cel/cel.ts';
import { CelError } from '../../../../../core/match/cel/cel-error.ts';
import { celFieldName, celValue } from '../../../../../core/match/cel/values.ts';

const self: CelType = {
  fields: {
    name: 'string',
    count: 'int',
    ratio: 'double',
    list: { list: 'int' },
    labels: { map: 'string' },
    items: { list: { fields: { name: 'string', size: 'int' } } },
    ...Object.fromEntries([['constructor', 'string' as const]]),
  },
};

const value = {
  name: 'till',
  count: 3,
  list: [3, 1, 2],
  labels: { app: 'till', tier: 'shop' },
  items: [
    { name: 'a', size: 1 },
    { name: 'b', size: 2 },
  ],
  constructor: 'c',
};

function evaluate(source: string, object: unknown = value) {
  return compileCel(source, { self }).evaluate({ self: celValue(object) });
}

function errorOf(attempt: () => unknown): CelError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof CelError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('an expression', () => {
  it.each([
    ['self.count > 2 && self.name == "till"', true],
    ['has(self.ratio)', false],
    ['self.list.all(i, i > 0)', true],
    ['self.items.exists(item, item.name == "b" && item.size == 2)', true],
    ['self.labels.all(key, key.size() < 5)', true],
    ['"app" in self.labels && self.labels["app"] == "till"', true],
    ['self.items == self.items', true],
    ['self.constructor == "c"', true],
    ['self.?ratio.orValue(1.5) == 1.5', true],
    ['[1, 2, 3].sum() == 6 && self.list.max() == 3 && self.list.min() == 1 && ![2, 1].isSorted()', true],
    ['"a.b.c".split(".").size() == 3 && "till".replace("l", "k") == "tikk" && "till".charAt(0) == "t"', true],
    ['"%s has %d of %.1f".format([self.name, self.count, 2.0]) == "till has 3 of 2.0"', true],
    ['quantity("1Gi").isGreaterThan(quantity("1G")) && quantity("500m").add(quantity("0.5")) == quantity("1")', true],
    ['quantity("2k").asInteger() == 2000 && !isQuantity("2 k")', true],
    ['self.name.matches("^t[il]+$") && matches(self.name, "ill")', true],
  ])('%s is %s', (source, expected) => {
    expect(evaluate(source)).toBe(expected);
  });

  it('lists the declared variables that it names', () => {
    const program = compileCel('self.count > oldSelf.count', { self, oldSelf: self, other: 'int' });
    expect([...program.variables].sort()).toEqual(['oldSelf', 'self']);
  });

  it('lists the fields of a variable that it names, or that it uses the whole variable', () => {
    const fieldsOf = (source: string) => compileCel(source, { self, oldSelf: self }).fieldsOf('self');
    expect([...(fieldsOf('has(self.ratio) && self.items.all(i, i.size > self.count)') ?? [])].sort()).toEqual([
      'count',
      'items',
      'ratio',
    ]);
    expect(fieldsOf('oldSelf.count == 1')?.size).toBe(0);
    expect(fieldsOf('self == oldSelf || self.count == 1')).toBeUndefined();
  });

  it.each([
    ['self.count >', 'syntax'],
    ['self.conut > 1', 'type'],
    ['self.items[0].nam == ""', 'type'],
    ['self.count == "x"', 'type'],
    ['unknown == 1', 'type'],
    ['self.name.matches("(")', 'type'],
  ])('%s is refused when it is compiled', (source, kind) => {
    expect(errorOf(() => compileCel(source, { self })).kind).toBe(kind);
  });

  it('with the wrong result type is refused at compilation', () => {
    expect(errorOf(() => compileCel('self.count', { self }, 'bool')).message).toBe('must be of type bool, is int');
  });

  it('that reads a missing field fails with the field’s name', () => {
    expect(errorOf(() => evaluate('self.ratio > 1.0')).message).toBe('no such key: ratio');
  });
});

describe('cost', () => {
  const many = { list: Array.from({ length: 3000 }, (_, index) => index) };

  it.each([
    'self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))',
    'self.list.all(a, self.list.all(b, has(self.list)))',
    'self.list.map(a, self.list.filter(b, a == b)).size() > 0',
    'self.list.exists_one(a, self.list.exists(b, a + b == -1))',
  ])('of nested loops is bounded: %s', (source) => {
    expect(errorOf(() => evaluate(source, many)).kind).toBe('cost');
  });

  it('of texts that double is bounded', () => {
    let source = 'x';
    for (let index = 0; index < 40; index++) source = `cel.bind(x, x + x, ${source})`;
    const program = compileCel(`cel.bind(x, self.name, ${source}).size() > 0`, { self });
    expect(errorOf(() => program.evaluate({ self: celValue(value) })).kind).toBe('cost');
  });

  it.each([
    'self.name.replace("", self.name).replace("", self.name).size() > 0',
    'self.name.replace("x", self.name, -1).replace("x", self.name, -1).size() > 0',
    'self.name.split("").map(c, self.name).join(self.name).size() > 0',
    'self.name.split("").join(self.name).replace("x", self.name).size() > 0',
    '"%s".format([[self.name, self.name, self.name, self.name].map(n, n.replace("", self.name))]).size() > 0',
    'self.list.all(a, !self.name.contains("y") && !self.name.contains("z") && !self.name.matches("y$"))',
  ])('of texts that calls make or search is bounded: %s', (source) => {
    const large = { ...many, name: 'x'.repeat(8_000) };
    expect(errorOf(() => compileCel(source, { self: 'dyn' }).evaluate({ self: celValue(large) })).kind).toBe('cost');
  });

  it('is shared by all users of one budget', () => {
    const program = compileCel('self.list.all(a, a >= 0)', { self });
    const budget = { remaining: 50_000 };
    program.evaluate({ self: celValue(many) }, budget);
    program.evaluate({ self: celValue(many) }, budget);
    expect(
      errorOf(() => {
        for (let index = 0; index < 10; index++) program.evaluate({ self: celValue(many) }, budget);
      }).kind,
    ).toBe('cost');
  });

  it('of a single loop over a long list is within the limit', () => {
    expect(evaluate('self.list.all(a, a >= 0)', many)).toBe(true);
  });
});

describe('names of fields', () => {
  it.each([
    ['plain', 'plain'],
    ['with-dash', 'with__dash__dash'],
    ['a.b/c', 'a__dot__b__slash__c'],
    ['in', '__in__'],
    ['__x', '__underscores__x'],
    ['1st', undefined],
  ])('%s is reached as %s', (name, escaped) => {
    expect(celFieldName(name)).toBe(escaped);
  });
});
