import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergePatch } from '../../../../../core/apiserver/patch/merge-patch.ts';
import type { Json, JsonObject } from '../../../../../core/object/meta.ts';

const { json } = fc.letrec<{ json: Json; object: JsonObject }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.boolean(),
    fc.integer(),
    fc.string(),
    fc.array(tie('json'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), tie('json'), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
}));
const object = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'toString'), json, { noNullPrototype: true });

describe('mergePatch', () => {
  it.each<[Json, Json, Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [['a'], ['c'], ['c']],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1], { a: { b: null } }, { a: {} }],
  ])('of %j with %j is %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it('leads from any object to any other with the patch of the two', () => {
    fc.assert(
      fc.property(object, object, (before, after) => {
        expect(mergePatch(before, difference(before, after))).toEqual(after);
      }),
    );
  });

  it('changes neither the object nor the patch', () => {
    fc.assert(
      fc.property(object, object, (before, patch) => {
        const texts = JSON.stringify([before, patch]);
        mergePatch(before, patch);
        expect(JSON.stringify([before, patch])).toBe(texts);
      }),
    );
  });

  it('gives the same result twice', () => {
    fc.assert(
      fc.property(object, object, (before, patch) => {
        const once = mergePatch(before, patch);
        expect(mergePatch(once, patch)).toEqual(once);
      }),
    );
  });
});

/** The merge patch that makes `after` of `before`; neither has nulls. */
function difference(before: JsonObject, after: JsonObject): JsonObject {
  const fields: [string, Json][] = Object.keys(before)
    .filter((name) => !Object.hasOwn(after, name))
    .map((name) => [name, null]);
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, name) ? before[name]! : undefined;
    if (isObject(old) && isObject(value)) fields.push([name, difference(old, value)]);
    else if (JSON.stringify(old) !== JSON.stringify(value)) fields.push([name, value]);
  }
  return Object.fromEntries(fields);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
