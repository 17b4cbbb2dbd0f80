import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactSetsMax, type LabelSummary, mergeLabelSummaries } from '../../../../core/match/label-summary.ts';
import { compareMatches } from '../../../../core/match/match-counts.ts';
import type { MatchRule } from '../../../../core/match/summary-match.ts';
import type { Labels } from '../../../../core/object/selector.ts';
import { matchesSelector } from '../../../../core/object/selector.ts';

const one = (labels: Labels, cordoned = false): LabelSummary => ({
  leaves: 1,
  sets: [{ labels, leaves: 1, ...(cordoned ? { cordoned: true } : {}) }],
});
const rule = (...selectors: Labels[]): MatchRule => ({ selectors: selectors.map((matchLabels) => ({ matchLabels })) });
const exactly = (count: number) => ({ atLeast: count, atMost: count });

describe('the change of a rule at the leaves of a summary', () => {
  const summary = mergeLabelSummaries([
    one({ env: 'prod', tier: 'a' }),
    one({ env: 'prod', tier: 'b' }),
    one({ env: 'dev', tier: 'a' }),
  ]);

  it('counts what matches now and afterwards, what joins and what leaves', () => {
    expect(compareMatches(rule({ env: 'prod' }), rule({ tier: 'a' }), summary)).toEqual({
      present: exactly(2),
      next: exactly(2),
      joining: exactly(1),
      leaving: exactly(1),
    });
  });

  it('of a placement that does not exist yet is everything that matches', () => {
    expect(compareMatches(undefined, rule({ env: 'prod' }), summary)).toEqual({
      present: exactly(0),
      next: exactly(2),
      joining: exactly(2),
      leaving: exactly(0),
    });
  });

  it('without a selector is that everything leaves', () => {
    expect(compareMatches(rule({}), rule(), summary)).toMatchObject({ next: exactly(0), leaving: exactly(3) });
  });

  it('is a range at cordoned leaves, which keep a placement and get no other', () => {
    const cordoned = mergeLabelSummaries([one({ env: 'prod' }), one({ env: 'dev' }, true)]);
    expect(compareMatches(rule({ env: 'prod' }), rule({}), cordoned)).toMatchObject({
      next: exactly(1),
      joining: exactly(0),
    });
    expect(compareMatches(rule({ env: 'dev' }), rule({}), cordoned).next).toEqual({ atLeast: 1, atMost: 2 });
    expect(compareMatches(undefined, rule({}), cordoned).next).toEqual(exactly(1));
  });

  it('is a range where the summary has only counts for each key, but nothing moves if the rule stays the same', () => {
    const parts = Array.from({ length: exactSetsMax + 1 }, (_, i) => one({ env: 'prod', site: `s${i}` }));
    const keyed = mergeLabelSummaries(parts);
    expect(keyed.sets).toBeUndefined();
    const range = { atLeast: 0, atMost: exactSetsMax + 1 };
    expect(compareMatches(undefined, rule({ env: 'prod' }), keyed)).toMatchObject({ next: range, joining: range });
    expect(compareMatches(undefined, rule({ env: 'dev' }), keyed)).toMatchObject({ next: exactly(0) });
    expect(compareMatches(rule({ env: 'prod' }), rule({ env: 'prod' }), keyed)).toMatchObject({
      next: range,
      joining: exactly(0),
      leaving: exactly(0),
    });
  });

  it('has the true numbers within its bounds, and exactly them while the sets are exact', () => {
    const labels = fc.record({ env: fc.constantFrom('prod', 'dev'), tier: fc.constantFrom('a', 'b', 'c') });
    const selector = fc.record(
      { env: fc.constantFrom('prod', 'dev'), tier: fc.constantFrom('a', 'b') },
      { requiredKeys: [] },
    );
    void fc.assert(
      fc.property(fc.array(labels, { maxLength: 20 }), selector, selector, (places, before, after) => {
        const at = (selected: Labels) => places.map((place) => matchesSelector({ matchLabels: selected }, place));
        const [had, gets] = [at(before as Labels), at(after as Labels)];
        const count = (holds: (i: number) => boolean) => exactly(places.filter((_, i) => holds(i)).length);
        const change = compareMatches(
          rule(before as Labels),
          rule(after as Labels),
          mergeLabelSummaries(places.map((place) => one(place))),
        );
        expect(change).toEqual({
          present: count((i) => had[i]!),
          next: count((i) => gets[i]!),
          joining: count((i) => gets[i]! && !had[i]!),
          leaving: count((i) => had[i]! && !gets[i]!),
        });
      }),
    );
  });
});
