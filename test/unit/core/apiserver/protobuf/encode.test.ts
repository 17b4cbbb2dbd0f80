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
