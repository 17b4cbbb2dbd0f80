import fc from 'fast-check';
import { expect, it } from 'vitest';
import { exactNumbers, parseExactJson } from '../../../../core/object/exact-integers.ts';

it.each([
  '{"a":9007199254740991,"b":-9007199254740991}',
  '{"a":"9007199254740993","9007199254740993":1}',
  '{"a":"\\"9007199254740993","b":"\\\\","c":[9007199254740992]}',
  '{"a":12345678901234567890.5,"b":1e300,"c":12345678901234567890e1,"d":-0,"e":0.1234567890123456789}',
])('%s is parsed exactly by JSON.parse, as far as integers go', (json) => {
  expect(() => parseExactJson(json)).not.toThrow();
});

it('the place of an inexact integer is named, and its changed value', () => {
  const json = ' [ {"x":1} , { "a\\"b" : { "c" : [ 1 , [ ] , 9007199254740993 ] } } ] ';
  expect(() => parseExactJson(json)).toThrow(/^1\.a"b\.c\.2: the integer 9007199254740993 .* 9007199254740992: /);
});

it('an integer is accepted if and only if its digits are reproduced, whatever is around it', () => {
  const around = fc.jsonValue({ noUnicodeString: false });
  fc.assert(
    fc.property(around, fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), around, (before, integer, after) => {
      const json = `[${JSON.stringify(before)},${integer},${JSON.stringify(after)}]`;
      const isKept = String(JSON.parse(String(integer))) === String(integer);
      const place = expect(() => parseExactJson(json));
      if (isKept) place.not.toThrow(/^1: /);
      else place.toThrow(/^(0|1|2)/);
    }),
    { numRuns: 500 },
  );
});

it('integers of YAML become numbers again, and the values around them stay', () => {
  expect(exactNumbers({ a: [1n, 'x', null], b: { c: 2n ** 53n, d: 0.5 } })).toEqual({
    a: [1, 'x', null],
    b: { c: 2 ** 53, d: 0.5 },
  });
});
