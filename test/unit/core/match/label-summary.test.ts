import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countMatching,
  exactSetsMax,
  type LabelSummary,
  mayMatch,
  mergeLabelSummaries,
} from '../../../../core/match/label-summary.ts';
import { type LabelRequirement, type Labels, matchesSelector } from '../../../../core/object/selector.ts';

const leaf = (labels: Labels): LabelSummary => ({ leaves: 1, sets: [{ labels, leaves: 1 }] });
const key = fc.constantFrom('env', 'tier', 'zone', 'rank');
const value = fc.constantFrom('prod', 'test', 'a', 'b', '1', '7', '12');
const labels = fc.dictionary(key, value, { maxKeys: 4 });
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.array(value, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ key, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
  fc.record({
    key,
    operator: fc.constantFrom('Gt' as const, 'Lt' as const),
    values: fc.constantFrom('0', '7', '11').map((limit) => [limit]),
  }),
);
const selector = fc.record({ matchExpressions: fc.array(requirement, { maxLength: 3 }) });
/** As the summary looks when it has too many sets. */
const byKeys = (all: Labels[]): LabelSummary => {
  const filler = Array.from({ length: exactSetsMax + 1 }, (_, i) => leaf({ filler: `v${i}` }));
  return mergeLabelSummaries([...all.map(leaf), ...filler]);
};

describe('a label summary', () => {
  it('is exact while it holds the label sets', () => {
    fc.assert(
      fc.property(fc.array(labels, { maxLength: 12 }), selector, (all, s) => {
        const summary = mergeLabelSummaries(all.map(leaf));
        const count = all.filter((l) => matchesSelector(s, l)).length;
        expect(countMatching([s], summary)).toBe(count);
        expect(mayMatch(s, summary)).toBe(count > 0);
      }),
    );
  });

  it('never says no to a selector that some destination satisfies, when it holds counts only', () => {
    fc.assert(
      fc.property(fc.array(labels, { minLength: 1, maxLength: 12 }), selector, (all, s) => {
        if (all.some((l) => matchesSelector(s, l))) expect(mayMatch(s, byKeys(all))).toBe(true);
      }),
    );
  });

  it('prunes a value that no destination has, from counts', () => {
    const summary = byKeys([{ env: 'prod' }, { env: 'test' }]);
    expect(summary.sets).toBeUndefined();
    expect(mayMatch({ matchLabels: { env: 'stage' } }, summary)).toBe(false);
    expect(countMatching([{ matchLabels: { env: 'stage' } }], summary)).toBe(0);
    expect(countMatching([{ matchLabels: { env: 'prod' } }], summary)).toBeUndefined();
  });

  it('adds the leaves of equal sets and keeps an order of its own', () => {
    const a = leaf({ env: 'prod' });
    const b = leaf({ env: 'test' });
    expect(mergeLabelSummaries([a, b, a])).toEqual(mergeLabelSummaries([b, a, a]));
    expect(mergeLabelSummaries([a, a]).sets).toEqual([{ labels: { env: 'prod' }, leaves: 2 }]);
  });
});
