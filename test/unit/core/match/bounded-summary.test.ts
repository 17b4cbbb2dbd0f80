import { describe, expect, it } from 'vitest';
import { boundedSummary, summaryCharactersMax } from '../../../../core/match/bounded-summary.ts';
import {
  covers,
  decodeLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  type LocationLabels,
  mergeLabelSummaries,
  summaryOfAgent,
} from '../../../../core/match/label-summary.ts';
import { matchSummary } from '../../../../core/match/summary-match.ts';

const agents = 300;

/** By key: this number of agents, each with `properties` values of its own of this length. */
function summaryOf(properties: number, characters: number, labels: Record<string, string> = {}): LabelSummary {
  const places = Array.from({ length: agents }, (_, i): LocationLabels => {
    const value = (key: number) => `${key}-${i % 250}-`.padEnd(characters, 'x');
    return {
      labels: { site: `s${i}`, ...labels },
      properties: Object.fromEntries(Array.from({ length: properties }, (_, key) => [`p${key}`, value(key)])),
      targetLabels: { tier: i % 2 ? 'one' : 'two' },
    };
  });
  return mergeLabelSummaries(places.map((place) => summaryOfAgent([place])));
}
const bytesOf = (summary: LabelSummary) => encodeLabelSummary(summary).length;

describe('a label summary in its bounded form', () => {
  it('is the summary itself while it is small, and sets are kept', () => {
    const byKey = summaryOf(4, 30);
    const sets = summaryOfAgent([{ labels: { site: 'paris' } }]);
    expect(byKey.keys).toBeDefined();
    expect([boundedSummary(byKey), boundedSummary(sets)]).toEqual([byKey, sets]);
    expect(boundedSummary(byKey)).toBe(byKey);
  });

  it('omits values if there are too many, of the largest keys first, and decodes to the same', () => {
    const whole = summaryOf(60, 55);
    expect(bytesOf(whole)).toBeGreaterThan(summaryCharactersMax);
    const bounded = boundedSummary(whole);
    expect(bytesOf(bounded)).toBeLessThan(summaryCharactersMax + 10_000);
    expect(bytesOf(bounded)).toBeGreaterThan(summaryCharactersMax / 2);
    expect(Object.keys(bounded.properties!)).toEqual(Object.keys(whole.properties!));
    const complete = Object.values(bounded.properties!).filter((key) => key.complete);
    expect(complete.length).toBeGreaterThan(0);
    expect(bounded.targetLabels).toEqual(whole.targetLabels);
    expect(bounded.leaves).toBe(agents);
    expect(encodeLabelSummary(decodeLabelSummary(encodeLabelSummary(bounded)))).toEqual(encodeLabelSummary(bounded));
    expect(boundedSummary(whole)).toBe(bounded);
  });

  it('excludes nothing that the full summary allows', () => {
    const whole = summaryOf(60, 55);
    expect(covers(boundedSummary(whole), whole)).toBe(true);
    expect(covers(whole, boundedSummary(whole))).toBe(false);
  });

  it('omits properties when their names alone are too many', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [
        `${i}-`.padEnd(1_200, 'n'),
        { present: 1, values: { a: 1 }, complete: true },
      ]),
    );
    const whole: LabelSummary = {
      leaves: 1,
      keys: { site: { present: 1, values: { a: 1 }, complete: true } },
      properties,
    };
    const bounded = boundedSummary(whole);
    expect(bounded.properties).toBeUndefined();
    expect(bounded.keys).toBeDefined();
    expect(covers(bounded, whole)).toBe(true);
  });

  it('marks omitted labels when their names are too many, and keeps those that most places have', () => {
    const places = Array.from({ length: agents }, (_, i): LocationLabels => {
      const own = Array.from({ length: 60 }, (_, key) => [`host-${i}-${key}`, `${key}`]);
      return { labels: { site: `s${i % 9}`, ...Object.fromEntries(own) }, properties: {}, targetLabels: {} };
    });
    const whole = mergeLabelSummaries(places.map((place) => summaryOfAgent([place])));
    const bounded = boundedSummary(whole);
    expect(bytesOf(whole)).toBeGreaterThan(2 * summaryCharactersMax);
    expect(bytesOf(bounded)).toBeLessThan(summaryCharactersMax + 1_000);
    expect(Object.keys(bounded.keys!).length).toBeGreaterThan(5_000);
    const { site } = bounded.keys!;
    expect(site).toMatchObject({ present: agents, complete: false });
    expect([covers(bounded, whole), covers(whole, bounded)]).toEqual([true, false]);
    expect(decodeLabelSummary(encodeLabelSummary(bounded))).toEqual(bounded);
    const left = Object.keys(whole.keys!).find((key) => !Object.hasOwn(bounded.keys!, key))!;
    const rule = { selectors: [{ matchLabels: { [left]: 'x' } }] };
    expect([matchSummary(rule, bounded).matches, matchSummary(rule, whole).matches]).toEqual([true, false]);
  });

  it('merges with another one to the common knowledge of both', () => {
    const key = (present: number) => ({ present, values: { a: present }, complete: true });
    const one: LabelSummary = { leaves: 2, keys: { site: key(2), own: key(1) }, moreKeys: true };
    const other: LabelSummary = { leaves: 3, keys: { site: key(3), rack: key(3) } };
    const both = mergeLabelSummaries([one, other]);
    expect(both).toEqual({ leaves: 5, keys: { site: key(5), own: key(1) }, moreKeys: true });
    for (const part of [one, other]) expect(covers(both, part)).toBe(true);
  });
});
