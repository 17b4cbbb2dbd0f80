import { describe, expect, it } from 'vitest';
import { jsonPieces } from '../../../../../core/apiserver/openapi/json-pieces.ts';

const value = { a: { b: { c: 1 }, d: [1, { e: undefined }] }, f: {}, g: undefined, 'h"': 12345678901234567890n };
const text = '{"a":{"b":{"c":1},"d":[1,{}]},"f":{},"h\\"":12345678901234567890}';

describe('the pieces of a JSON text', () => {
  it.each([0, 1, 2, 5])('are the text together: %i levels', (depth) => {
    expect([...jsonPieces(value, depth)].join('')).toBe(text);
  });

  it('have no more than one field of the last level', () => {
    expect([...jsonPieces(value, 2)]).toContain('{"c":1}');
  });
});
