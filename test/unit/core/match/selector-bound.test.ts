import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isWithinSelector, narrowedSelector } from '../../../../core/match/selector-bound.ts';
import { type LabelRequirement, type LabelSelector, matchesSelector } from '../../../../core/object/selector.ts';

const value = fc.constantFrom('a', 'b', '1', '7');
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({
    key: fc.constantFrom('x', 'y'),
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.uniqueArray(value, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    key: fc.constantFrom('x', 'y'),
    operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
  }),
  fc.record({
    key: fc.constantFrom('x', 'y'),
    operator: fc.constantFrom('Gt' as const, 'Lt' as const),
    values: fc.constantFrom('1', '5').map((number) => [number]),
  }),
);
const selector: fc.Arbitrary<LabelSelector> = fc
  .array(requirement, { maxLength: 3 })
  .map((matchExpressions) => ({ matchExpressions }));
const values = [undefined, 'a', 'b', '1', '7', 'other'];
const worlds = values.flatMap((x) =>
  values.map((y) => ({ ...(x === undefined ? {} : { x }), ...(y === undefined ? {} : { y }) })),
);

describe('a selector and its bound', () => {
  it('is within the bound only if it matches nothing outside, for all labels', () => {
    let within = 0;
    void fc.assert(
      fc.property(selector, selector, (one, bound) => {
        if (!isWithinSelector(one, bound)) return;
        within++;
        for (const labels of worlds)
          if (matchesSelector(one, labels)) expect(matchesSelector(bound, labels)).toBe(true);
      }),
      { seed: 1, numRuns: 3_000 },
    );
    expect(within).toBeGreaterThan(300);
  });

  it('is narrowed to exactly what both match, and is then within the bound', () => {
    void fc.assert(
      fc.property(selector, selector, (one, bound) => {
        const narrowed = narrowedSelector(one, bound);
        expect(isWithinSelector(narrowed, bound)).toBe(true);
        expect(narrowedSelector(narrowed, bound)).toBe(narrowed);
        for (const labels of worlds)
          expect(matchesSelector(narrowed, labels)).toBe(
            matchesSelector(one, labels) && matchesSelector(bound, labels),
          );
      }),
      { seed: 1, numRuns: 1_000 },
    );
  });

  it.each<[LabelSelector, LabelSelector, boolean]>([
    [{ matchLabels: { region: 'eu', env: 'prod' } }, { matchLabels: { region: 'eu' } }, true],
    [{ matchLabels: { env: 'prod' } }, { matchLabels: { region: 'eu' } }, false],
    [{}, { matchLabels: { region: 'eu' } }, false],
    [{ matchLabels: { region: 'eu' } }, { matchExpressions: [{ key: 'region', operator: 'Exists' }] }, true],
    [{ matchLabels: { n: '7' } }, { matchExpressions: [{ key: 'n', operator: 'Gt', values: ['5'] }] }, true],
  ])('%j within %j: %j', (one, bound, is) => {
    expect(isWithinSelector(one, bound)).toBe(is);
  });
});
