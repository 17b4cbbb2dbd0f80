import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { encodeProtobuf } from '../../../../../core/apiserver/protobuf/encode.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';

/** Our objects with the bytes and the JSON that client-go 0.34.1 makes of them. */
const cases = readFileSync(new URL('./client-go.cases.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { protobuf: string; json: KubeObject })
  // Servers only read this type.
  .filter(({ json }) => json.kind !== 'DeleteOptions');

it.each(cases.map((one) => [`${one.json.kind} ${one.json.metadata?.name}`, one] as const))(
  'an object has the bytes that client-go gives it: %s',
  (_, { protobuf, json }) => {
    expect(encodeProtobuf(json)?.toString('hex')).toBe(Buffer.from(protobuf, 'base64').toString('hex'));
  },
);

// A view shows what other nodes report.
it.each([[null], [true], [1.5], [-1], [1e300], [2n ** 63n - 1n], ['no time'], [[[]]], [[{}]], [{ toString: 1 }]])(
  'an object with %s in place of any value has a form',
  (wrong) => {
    for (const { json } of cases) {
      for (let depth = 1; depth <= 8; depth++) {
        const { apiVersion, kind } = json;
        expect(encodeProtobuf({ ...(below(json, depth, wrong) as object), apiVersion, kind })).toBeDefined();
      }
    }
  },
);

/** The value with `wrong` in each place of this depth. */
function below(value: unknown, depth: number, wrong: unknown): unknown {
  if (depth === 0) return wrong;
  if (Array.isArray(value)) return value.map((item) => below(item, depth - 1, wrong));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, below(field, depth - 1, wrong)]));
}
