import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergePatchBetween } from '../../../../center/cli/merge-patch-between.ts';
import { mergePatch } from '../../../../core/apiserver/patch/merge-patch.ts';

const leaf = fc.oneof(fc.string({ maxLength: 3 }), fc.integer(), fc.array(fc.integer(), { maxLength: 2 }));
/** Every JavaScript object inherits a field `constructor`. */
const key = fc.constantFrom('a', 'b', 'constructor');
const { value } = fc.letrec((tie) => ({
  value: fc.dictionary(key, fc.oneof({ depthSize: 'small' }, leaf, tie('value')), { noNullPrototype: true }),
}));

describe('a patch between two values', () => {
  it('makes the second one of the first one', () => {
    fc.assert(
      fc.property(value, value, (before, after) => {
        expect(mergePatch(before, mergePatchBetween(before, after) as never)).toEqual(after);
      }),
    );
  });

  it('has nothing that is the same', () => {
    expect(mergePatchBetween({ a: 1, b: { c: 2, d: 3 } }, { a: 1, b: { d: 4 } })).toEqual({ b: { c: null, d: 4 } });
  });
});
