import fc from 'fast-check';
import { expect, it } from 'vitest';
import { duplicateFields } from '../../../../core/object/json-text.ts';

const duplicatesOf = (json: string) => duplicateFields(json, JSON.parse(json));

it.each([
  ['{"a":1,"a":2}', ['a']],
  ['{"a":1,"a":2,"a":3}', ['a']],
  ['{"spec":{"replicas":1,"template":{},"replicas" : 2},"spec":{}}', ['spec.replicas', 'spec']],
  ['[{"b":[{"x":1},{"x":1,"y":{"x":1,"x":1}}]}]', ['[0].b[1].y.x']],
  ['{"a":{"x":1},"b":{"x":1},"c":["x","x"]}', []],
  ['{"a":1,"\\u0061":2}', ['a']],
  ['{"a\\"":1,"a":"\\"a\\":","b":"\\\\"}', []],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ['"a"', []],
])('%s repeats: %j', (json, places) => {
  expect(duplicatesOf(json)).toEqual(places);
});

it('a serialised value repeats no field, with any spacing', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('', ' ', '\t'), (value, space) => {
      expect(duplicatesOf(JSON.stringify(value, undefined, space))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

it('one additional field with an existing name is found, wherever', () => {
  const fields = fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fields, fc.nat(), fc.jsonValue(), fc.jsonValue(), (names, pick, first, second) => {
      const name = names[pick % names.length]!;
      const object = names.map((each) => `${JSON.stringify(each)}:${JSON.stringify(first)}`);
      const json = `[0,{${[...object, `${JSON.stringify(name)} : ${JSON.stringify(second)}`].join(' , ')}}]`;
      expect(duplicatesOf(json)).toEqual([`[1].${name}`]);
    }),
    { numRuns: 500 },
  );
});

it('reports the first hundred repeated fields, each once', () => {
  const many = Array.from({ length: 300 }, (_, i) => `"k${i >> 1}":1`).join();
  expect(duplicatesOf(`{"spec":{${many}}}`)).toEqual(Array.from({ length: 100 }, (_, i) => `spec.k${i}`));
  expect(duplicatesOf('{"a":1,"a":2,"a":3}')).toEqual(['a']);
  // A repeated field of a deep object, 40,000 times: to build its path each time would take a second.
  const deep = `${'{"a":'.repeat(400)}{${'"b":1,'.repeat(40_000)}"b":1}${'}'.repeat(400)}`;
  expect(duplicatesOf(deep)).toHaveLength(1);
});
