import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonLines } from '../../../../../edge-agent/cluster/kubernetes/json-lines.ts';

test('values arrive whole and in order, however the bytes are split', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 8 }), fc.array(fc.nat(40)), (values, cuts) => {
      const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
      const lines = new JsonLines();
      const found: unknown[] = [];
      let from = 0;
      for (const cut of [...cuts, bytes.length]) {
        found.push(...lines.push(bytes.subarray(from, from + cut)));
        from = Math.min(bytes.length, from + cut);
      }
      expect(found.map((value) => JSON.stringify(value))).toEqual(values.map((value) => JSON.stringify(value)));
    }),
  );
});

test('blank lines are ignored', () => {
  expect([...new JsonLines().push(Buffer.from('\n{"a":1}\r\n\n'))]).toEqual([{ a: 1 }]);
});

test('a line without an end is an error, before it fills the memory', () => {
  const lines = new JsonLines();
  const chunk = Buffer.alloc(8 << 20, 'x');
  expect(() => {
    for (let i = 0; i < 6; i++) for (const _ of lines.push(chunk));
  }).toThrow('longer than 33554432 bytes');
});
