import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { exactIntegers, jsonText, parseExactJson, parseJson } from '../../../../core/object/json.ts';

it.each([
  '{"a":9007199254740991,"b":-9007199254740991}',
  '{"a":"9007199254740993","9007199254740993":1}',
  '{"a":"\\"9007199254740993","b":"\\\\","c":[9007199254740992]}',
  '{"a":12345678901234567890.5,"b":1e300,"c":12345678901234567890e1,"d":-0,"e":0.1234567890123456789}',
])('%s is parsed as JSON.parse does: a double holds its integers', (json) => {
  expect(parseExactJson(json)).toEqual(JSON.parse(json));
});

describe('integers of 64 bits', () => {
  it.each([
    ['{"a":9223372036854775807,"b":[1,{"c":-9223372036854775808}],"d":"9007199254740993"}'],
    ['[9007199254740993]'],
    ['9007199254740993'],
    ['{"__proto__":9007199254740993}'],
  ])('%s is written as it was read', (json) => {
    expect(jsonText(parseExactJson(json))).toBe(json);
  });

  it('stay in a field that an object has twice, as its last value', () => {
    expect(jsonText(parseJson('{"a":9007199254740993,"a":9007199254740992}'))).toBe('{"a":9007199254740992}');
    expect(jsonText(parseJson('{"a":{"b":9007199254740993},"a":[1]}'))).toBe('{"a":[1]}');
    expect(jsonText(parseJson('{"a":1,"a":9007199254740993}'))).toBe('{"a":9007199254740993}');
  });

  it('are read from YAML, whose other integers are numbers', () => {
    expect(exactIntegers({ a: [1n, 'x', null], b: { c: 2n ** 53n, d: 0.5, e: 2n ** 63n - 1n } })).toEqual({
      a: [1, 'x', null],
      b: { c: 2 ** 53, d: 0.5, e: 2n ** 63n - 1n },
    });
  });
});

it('an integer beyond 64 bits is refused with its place, and is a double for readers of what is stored', () => {
  const json = ' [ {"x":1} , { "a\\"b" : { "c" : [ 1 , [ ] , 9223372036854775809 ] } } ] ';
  expect(() => parseExactJson(json)).toThrow(/^1\.a"b\.c\.2: the integer 9223372036854775809 .* 9223372036854776000: /);
  expect(parseJson('[9223372036854775809]')).toEqual([2 ** 63]);
});

it('an integer of millions of digits is never made a bigint, which would take seconds', () => {
  const made = vi.spyOn(globalThis, 'BigInt');
  expect(() => parseExactJson(`[${'9'.repeat(1000)}]`)).toThrow(/^0: the integer 9{64}… has more than 64 bits/);
  expect(made).not.toHaveBeenCalled();
  made.mockRestore();
});

it('every value is written as JSON.stringify writes it, with the digits of every integer, whatever is around', () => {
  const around = fc.jsonValue({ noUnicodeString: false });
  fc.assert(
    fc.property(around, fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), around, (before, integer, after) => {
      const [head, tail] = [JSON.stringify(before), JSON.stringify(after)];
      const json = `{"a":[${head},${integer},${tail}],"${integer}":"${integer}"}`;
      const isKept = BigInt.asIntN(64, integer) === integer || String(Number(integer)) === String(integer);
      if (isKept) expect(jsonText(parseJson(json))).toBe(`{${inOrder(json).join(',')}}`);
      else expect(() => parseExactJson(json)).toThrow(/^a\.1/);
    }),
    { numRuns: 200 },
  );
});

/** The two fields in the order of JSON.parse: a name that is an index comes first. -0 is written as 0. */
function inOrder(json: string): string[] {
  const value = JSON.parse(json) as Record<string, unknown>;
  const digits = /^\{"a":\[(.*)\],"(-?\d+)":/s.exec(json)!;
  const list = `"a":[${JSON.stringify((value.a as unknown[])[0])},${digits[2]},${JSON.stringify((value.a as unknown[])[2])}]`;
  const text = `"${digits[2]}":"${digits[2]}"`;
  return Object.keys(value)[0] === 'a' ? [list, text] : [text, list];
}
