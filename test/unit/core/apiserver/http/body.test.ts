import { expect, it } from 'vitest';
import { parseRequestBody } from '../../../../../core/apiserver/http/body.ts';

const yaml = (text: string) => parseRequestBody(Buffer.from(text), 'yaml', () => undefined);
const keys = Array.from({ length: 100_000 }, (_, i) => `k${i}: 1`);

it('reads YAML with as many keys as a request may have: to compare each with each would take minutes', () => {
  expect(Object.keys(yaml(keys.join('\n')) as object)).toHaveLength(100_000);
});

it('says where a key of YAML is there for the second time', () => {
  expect(() => yaml('a: {b: 1, c: [1, {d: 1, d: 2}]}\n')).toThrow(/Map keys must be unique at line 1, column 25$/);
  expect(() => yaml([...keys, 'k5: 2'].join('\n'))).toThrow(/Map keys must be unique at line 100001, column 1$/);
});
