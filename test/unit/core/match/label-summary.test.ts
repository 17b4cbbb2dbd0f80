import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { valuesPerKeyMax } from '../../../../core/match/key-summary.ts';
import {
  covers,
  decodeLabelSummary,
  emptyLabelSummary,
  encodeLabelSummary,
  exactSetsMax,
  keyedOf,
  type LabelSummary,
  mergeLabelSummaries,
  propertyCharactersMax,
  propertyKeysMax,
  summaryOfAgent,
} from '../../../../core/match/label-summary.ts';
import { matchSummary } from '../../../../core/match/summary-match.ts';
import {
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  matchesSelector,
} from '../../../../core/object/selector.ts';

const leaf = (labels: Labels, properties: Labels = {}): LabelSummary =>
  summaryOfAgent([{ labels, properties, targetLabels: {} }]);
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
/** The summary when it has too many sets. */
const byKeys = (all: readonly LabelSummary[]): LabelSummary => {
  const filler = Array.from({ length: exactSetsMax + 1 }, (_, i) => leaf({ filler: `v${i}` }));
  return mergeLabelSummaries([...all, ...filler]);
};
/** The summary in the bounded form when it has too many of these. */
const forgetting = (summary: LabelSummary, names: readonly string[]): LabelSummary => {
  const keys = Object.fromEntries(Object.entries(summary.keys!).filter(([name]) => !names.includes(name)));
  return names.length === 0 ? summary : { ...summary, keys, moreKeys: true };
};
const match = (summary: LabelSummary, ...selectors: LabelSelector[]) => matchSummary({ selectors }, summary);

describe('a label summary', () => {
  it('is exact while it holds the label sets', () => {
    fc.assert(
      fc.property(fc.array(labels, { maxLength: 12 }), selector, (all, s) => {
        const summary = mergeLabelSummaries(all.map((one) => leaf(one)));
        const count = all.filter((l) => matchesSelector(s, l)).length;
        expect(match(summary, s)).toEqual({ matches: count > 0, expected: count });
      }),
    );
  });

  it('never says no to a selector that some destination satisfies, when it holds counts only', () => {
    fc.assert(
      fc.property(fc.array(labels, { minLength: 1, maxLength: 12 }), selector, (all, s) => {
        const summary = byKeys(all.map((one) => leaf(one)));
        if (all.some((l) => matchesSelector(s, l))) expect(match(summary, s).matches).toBe(true);
      }),
    );
  });

  it('never says no if a part omits labels', () => {
    const parts = fc.array(fc.tuple(fc.array(labels, { minLength: 1, maxLength: 4 }), fc.array(key)), { minLength: 1 });
    fc.assert(
      fc.property(parts, selector, (all, one) => {
        const reported = all.map(([places, forgotten]) =>
          forgetting(byKeys(places.map((each) => leaf(each))), forgotten),
        );
        const merged = mergeLabelSummaries(reported);
        const isSome = all.some(([places]) => places.some((each) => matchesSelector(one, each)));
        if (isSome) expect(match(merged, one).matches).toBe(true);
        for (const part of reported) expect(covers(merged, part)).toBe(true);
      }),
    );
  });

  it('excludes a value that no destination has, from counts', () => {
    const summary = byKeys([leaf({ env: 'prod' }), leaf({ env: 'test' })]);
    expect(summary.sets).toBeUndefined();
    expect(match(summary, { matchLabels: { env: 'stage' } })).toEqual({ matches: false, expected: 0 });
    expect(match(summary, { matchLabels: { env: 'prod' } })).toEqual({ matches: true, expected: undefined });
  });

  it('counts a value once that a requirement names twice', () => {
    const all = Array.from({ length: exactSetsMax + 1 }, (_, i) => leaf({ env: i < 2 ? 'prod' : 'test', n: `v${i}` }));
    const notTest = { key: 'env', operator: 'NotIn' as const, values: ['test', 'test'] };
    expect(match(mergeLabelSummaries(all), { matchExpressions: [notTest] }).matches).toBe(true);
  });

  it('adds the leaves of equal sets and keeps a fixed order', () => {
    const [a, b] = [leaf({ env: 'prod' }), leaf({ env: 'test' })];
    expect(mergeLabelSummaries([a, b, a])).toEqual(mergeLabelSummaries([b, a, a]));
    expect(mergeLabelSummaries([a, a]).sets).toEqual([
      { labels: { env: 'prod' }, properties: {}, targetLabels: {}, leaves: 2 },
    ]);
  });

  it('matches an agent by any of its Locations, and counts it once', () => {
    const agent = summaryOfAgent([{ labels: { site: 'paris' } }, { labels: { site: 'lyon' } }]);
    const site = (name: string) => ({ matchLabels: { site: name } });
    expect(match(agent, site('lyon'), site('paris'))).toEqual({ matches: true, expected: 1 });
    expect(match(agent, site('rome'))).toEqual({ matches: false, expected: 0 });
    const some = byKeys([agent]);
    expect([match(some, site('lyon')).matches, match(some, site('rome')).matches]).toEqual([true, false]);
  });

  it('checks for a missing key at each Location, also by key', () => {
    const all = Array.from({ length: exactSetsMax + 1 }, (_, i) =>
      summaryOfAgent([{ labels: { site: `s${i}` } }, { labels: { other: 'x' } }]),
    );
    const absent = { matchExpressions: [{ key: 'site', operator: 'DoesNotExist' as const }] };
    expect(match(mergeLabelSummaries(all), absent).matches).toBe(true);
  });

  it('matches a missing key beside a child that claims the key at more places than it has', () => {
    const absent = { matchExpressions: [{ key: 'site', operator: 'DoesNotExist' as const }] };
    const site = { present: 1_000, values: {}, complete: false };
    const malformed = decodeLabelSummary(Buffer.from(JSON.stringify({ leaves: 1, keys: { site } })));
    expect(match(mergeLabelSummaries([malformed, byKeys([leaf({})])]), absent).matches).toBe(true);
  });

  it('answers "maybe" for a cordoned agent that matches', () => {
    const summary = mergeLabelSummaries([leaf({ env: 'prod' }), summaryOfAgent([{ labels: { env: 'test' } }], true)]);
    expect(match(summary, { matchLabels: { env: 'prod' } })).toEqual({ matches: true, expected: 1 });
    expect(match(summary, {})).toEqual({ matches: true, expected: undefined });
  });

  it('keeps a range, and no values, of a key with too many values', () => {
    const all = Array.from({ length: valuesPerKeyMax + 1 }, (_, i) => leaf({}, { 'carbon.gPerKWh': `${i}.5` }));
    const one = mergeLabelSummaries(all).properties?.['carbon.gPerKWh'];
    expect(one).toEqual({ present: valuesPerKeyMax + 1, values: {}, complete: false, numbers: [0.5, 256.5] });
  });

  it('keeps no range if a value is a number without an order', () => {
    const numbers = Array.from({ length: valuesPerKeyMax }, (_, i) => leaf({}, { load: `${i}` }));
    expect(mergeLabelSummaries([...numbers, leaf({}, { load: 'NaN' })]).properties?.load?.numbers).toBeUndefined();
  });

  it('omits the properties of a place that has too many, and does not claim that it has none', () => {
    const big = leaf({}, { text: 'x'.repeat(propertyCharactersMax) });
    expect(big.sets?.[0]?.properties).toBeUndefined();
    expect(keyedOf(mergeLabelSummaries([big, leaf({}, { a: '1' })])).properties).toBeUndefined();
  });

  it('omits properties by key when there are too many keys', () => {
    const all = Array.from({ length: propertyKeysMax + 1 }, (_, i) => leaf({}, { [`p${i}`]: '1' }));
    expect(mergeLabelSummaries(all).properties).toBeUndefined();
  });

  it('is unchanged after encoding and decoding, by sets and by key', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(labels, labels), { maxLength: 6 }), fc.boolean(), (all, isKeyed) => {
        const leaves = all.map(([one, properties]) => leaf(one, properties));
        const summary = isKeyed ? byKeys(leaves) : mergeLabelSummaries(leaves);
        expect(decodeLabelSummary(encodeLabelSummary(summary))).toEqual(structuredClone(summary));
      }),
    );
  });

  it('without properties, or without bounds of values, is readable, and the missing parts may be anything', () => {
    const old = decodeLabelSummary(Buffer.from('{"leaves":2,"sets":[{"labels":{"env":"prod"},"leaves":2}]}'));
    expect(match(old, { matchLabels: { env: 'prod' } })).toEqual({ matches: true, expected: 2 });
    expect(keyedOf(old).properties).toBeUndefined();
    const keys = '{"env":{"present":2,"values":{"prod":1},"complete":false}}';
    const byKey = decodeLabelSummary(Buffer.from(`{"leaves":2,"keys":${keys}}`));
    expect(match(byKey, { matchLabels: { env: 'test' } }).matches).toBe(true);
  });
});

describe('a label summary that covers another', () => {
  const some = fc.array(fc.tuple(labels, labels), { maxLength: 8 });
  const summary = (all: readonly (readonly [Labels, Labels])[], isKeyed: boolean) => {
    const leaves = all.map(([one, properties]) => leaf(one, properties));
    return isKeyed ? byKeys(leaves) : mergeLabelSummaries(leaves);
  };

  it('matches everything that the other matches', () => {
    let covered = 0;
    fc.assert(
      fc.property(some, some, fc.boolean(), selector, (a, b, isKeyed, s) => {
        const [wide, narrow] = [summary([...a, ...b], isKeyed), summary(a, isKeyed)];
        if (!covers(wide, narrow)) return;
        covered++;
        if (match(narrow, s).matches) expect(match(wide, s).matches).toBe(true);
      }),
    );
    expect(covered).toBeGreaterThan(0);
  });

  it('covers itself, and every summary covers the empty one', () => {
    const one = leaf({ env: 'prod' });
    expect([covers(one, one), covers(one, emptyLabelSummary), covers(emptyLabelSummary, one)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('does not cover it if a set, a value, a number or an absence is missing', () => {
    const [prod, test] = [leaf({ env: 'prod' }), leaf({ env: 'test' })];
    expect(covers(mergeLabelSummaries([prod, prod]), test)).toBe(false);
    expect(covers(byKeys([prod]), byKeys([test]))).toBe(false);
    const everywhere = Array.from({ length: exactSetsMax + 1 }, (_, i) => leaf({ env: 'prod', n: `v${i}` }));
    const nearly = [...everywhere.slice(1), leaf({ n: 'v0' })];
    expect(covers(mergeLabelSummaries(everywhere), mergeLabelSummaries(nearly))).toBe(false);
    const loads = (from: number) =>
      mergeLabelSummaries(Array.from({ length: exactSetsMax + 1 }, (_, i) => leaf({}, { load: `${from + i}.5` })));
    expect([covers(loads(0), loads(0)), covers(loads(0), loads(1))]).toEqual([true, false]);
  });
});
