import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeChecked } from '../../../../core/object/checked.ts';
import {
  countsUpTo,
  emptyPart,
  mergeParts,
  notReceived,
  partSchema,
  type RolloutPart,
  receivedByAll,
  silentPart,
} from '../../../../core/rollout/part.ts';
import { text } from '../../../../core/store/bytes.ts';

const counts = (expected: number, exposed = 0, available = 0, failed = 0) => ({
  expected,
  fresh: expected,
  exposed,
  available,
  failed,
});
const part = (some: Partial<RolloutPart>): RolloutPart => ({ ...emptyPart(4, 2), received: 0, ...some });

const some = fc.nat(50);
const wave = fc.record({ expected: some, fresh: some, exposed: some, available: some, failed: some });
const anyPart = fc.record({
  release: fc.integer({ min: 1, max: 3 }),
  received: fc.integer({ min: -2, max: 3 }),
  waves: fc.array(wave, { maxLength: 4 }),
  smallest: fc
    .array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 })
    .map((all) => all.sort((a, b) => a - b)),
  k: fc.constant(3),
  barred: fc.nat(5),
});

describe('parts of a release', () => {
  it('add up by wave, and keep the smallest positions', () => {
    const a = part({ waves: [counts(2, 1)], smallest: [0.1, 0.5] });
    const b = part({ received: 1, waves: [counts(1), counts(3, 2, 1, 1)], smallest: [0.3] });
    expect(mergeParts(a, b)).toEqual(part({ waves: [counts(3, 1), counts(3, 2, 1, 1)], smallest: [0.1, 0.3] }));
  });

  it('of an older release count only as not received', () => {
    const newer = part({ release: 5, waves: [counts(1)] });
    const older = part({ waves: [counts(7, 7, 7)] });
    expect(mergeParts(newer, older)).toEqual({ ...newer, received: notReceived });
    expect(mergeParts(older, newer)).toEqual({ ...newer, received: notReceived });
  });

  it('merge to the same result in any order and any grouping', () => {
    fc.assert(
      fc.property(anyPart, anyPart, anyPart, (a, b, c) => {
        expect(mergeParts(mergeParts(a, b), c)).toEqual(mergeParts(a, mergeParts(b, c)));
        expect(mergeParts(a, b)).toEqual(mergeParts(b, a));
        expect(mergeParts(a, undefined)).toEqual(a);
      }),
    );
  });

  it('are as small as the waves and the largest count, however many are merged', () => {
    const merged = Array.from({ length: 500 }, (_, i) => part({ waves: [counts(1)], smallest: [i / 500] })).reduce(
      (a, b) => mergeParts(a, b)!,
    );
    expect(merged.smallest).toEqual([0, 1 / 500]);
    expect(countsUpTo(merged, 0)).toEqual(counts(500));
  });

  it('of a silent child keep the members of the waves, and drop who has the release and in which state', () => {
    const silent = silentPart(part({ waves: [counts(4, 3, 2, 1)], smallest: [0.2] }));
    expect(silent).toEqual(
      part({ received: receivedByAll, waves: [{ expected: 4, fresh: 0, exposed: 0, available: 0, failed: 0 }] }),
    );
  });

  it('are counted up to a wave', () => {
    const three = part({ waves: [counts(1, 1), counts(2, 2, 2), counts(4)] });
    expect(countsUpTo(three, 1)).toEqual(counts(3, 3, 2));
    expect(countsUpTo(undefined, 1)).toEqual(counts(0));
  });

  it('from another node are refused if they are larger than allowed', () => {
    const decode = (value: object) => decodeChecked('a part', partSchema, text(JSON.stringify(value)));
    expect(decode(part({}))).toEqual(part({}));
    expect(() => decode(part({ smallest: new Array(1001).fill(0.5) }))).toThrow('smallest');
    expect(() => decode(part({ waves: new Array(22).fill(counts(1)) }))).toThrow('waves');
  });
});
