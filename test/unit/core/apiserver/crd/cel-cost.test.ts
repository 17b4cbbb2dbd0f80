import { describe, expect, it } from 'vitest';
import { costMistake, costsOf, expressionCost, totalMistakes } from '../../../../../core/apiserver/crd/cel-cost.ts';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import { celCaseSchema } from '../../../../support/cel-cases.ts';

describe('the cost of an expression', () => {
  // The figures of k8s.io/apiextensions-apiserver 0.34.4.
  it.each([
    ["self.s.charAt(0) == 'a'", 4],
    ["self.s.replace('b', 'x') == 'axc'", 35],
    ["'a,b,c'.split(',', 2) == ['a', 'b,c']", 12],
    ["self.ls.join('-') == 'a-b'", 22],
    ["self.s.matches('^[a-z]+$')", 36],
    ['self.l.map(x, x > 1, x * 2) == [6, 4]', 104],
    ['self.l.filter(x, x > 1) == [3, 2]', 99],
    ['sets.contains(self.l, [1, 2])', 23],
    ['self.m.all(k, v, k != v)', 28],
    ["self.m.transformMap(k, v, k == 'a', v + '1') == {'a': 'x1'}", 109],
    ["self.m.transformMapEntry(k, v, {v: k}) == {'x': 'a', 'y': 'b'}", 234],
    ["cidr('10.0.0.0/8').containsCIDR('10.0.0.0/9') && !cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/7'))", 19],
    ["format.named('dns1123Label').value().validate(self.s).orValue([]).size() == 0", 529],
    ["self.?o.?b.optMap(v, 'y').orValue('z') == 'z'", 21],
    ["self.un.all(a, a == 'x')", 5_242_878],
    ["self.us.matches('^(a|b)+$')", 629_148],
    ["self.us.split(',').all(x, x == 'a')", 13_212_053],
    ['self.l.all(a, self.l.all(b, self.l.all(c, a + b + c > 0)))', 1_308],
    ["[?self.m[?'a'], ?self.m[?'c']] == ['x']", 27],
    ["{?'k': self.m[?'a'], ?'l': self.m[?'c']} == {'k': 'x'}", 67],
    ["self.b ? self.i == 2 : self.s == 'x'", 5],
  ])('%s is %d', (rule, cost) => {
    expect(expressionCost(rule, celCaseSchema, false)).toBe(cost);
  });

  it.each([
    ["['a'].min() == 'a'", 'the items of a literal list have no known size'],
    ["self.?s.optMap(v, v + 'x').orValue('') != ''", 'the value of an optional has no known size'],
  ])('%s is infinite: %s', (rule) => {
    expect(expressionCost(rule, celCaseSchema, false)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('the rules of a definition', () => {
  const rule = 'self.all(a, self.all(b, a != b))';
  const texts = (more: object): SchemaProps => ({
    type: 'array',
    items: { type: 'string', maxLength: 9 },
    'x-kubernetes-validations': [{ rule }],
    ...more,
  });
  const mistakes = (schema: SchemaProps) => {
    const costs = new Map(costsOf(schema, 's'));
    const alone = [...costs].flatMap(([field, cost]) => costMistake(field, 'rule', cost));
    return [...alone, ...totalMistakes(costs, 's')].map(({ field, message }) => `${field}: ${message}`);
  };

  it('need maximal sizes', () => {
    const [unbounded] = mistakes({ type: 'object', properties: { texts: texts({}) } });
    expect(unbounded).toMatch(
      /^s\.properties\[texts\]\.x-kubernetes-validations\[0\]\.rule: .*estimated rule cost exceeds budget by factor of more than 100x .*maxItems/,
    );
    expect(mistakes({ type: 'object', properties: { texts: texts({ maxItems: 50 }) } })).toEqual([]);
  });

  it('count as often as their value can be in an object', () => {
    const list = (more: object): SchemaProps => ({
      type: 'object',
      properties: { list: { type: 'array', items: texts({ maxItems: 100 }), ...more } },
    });
    expect(mistakes(list({ maxItems: 10 }))).toEqual([]);
    expect(mistakes(list({ maxItems: 1_000 }))).toHaveLength(1);
    expect(mistakes(list({}))).toHaveLength(1 + 1 + 1);
  });

  it('may not cost too much all together', () => {
    const properties = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`p${i}`, texts({ maxItems: 1_000 })]));
    expect(mistakes({ type: 'object', properties: { p0: properties.p0! } })).toEqual([]);
    const part = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    expect(mistakes({ type: 'object', properties })).toEqual([
      ...[0, 1, 2, 3].map((n) => `s.properties[p${n}].x-kubernetes-validations[0].rule: Forbidden: ${part}`),
      expect.stringMatching(
        /^s: .*x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds/,
      ),
    ]);
  });
});
