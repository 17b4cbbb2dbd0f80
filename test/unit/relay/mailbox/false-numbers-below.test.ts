import { describe, expect, it } from 'vitest';
import { reportedFlaw } from '../../../../core/entries/up-check.ts';
import type { KeySummaries } from '../../../../core/match/key-summary.ts';
import {
  decodeLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  mergeLabelSummaries,
} from '../../../../core/match/label-summary.ts';
import { matchSummary } from '../../../../core/match/summary-match.ts';
import { emptyMovePart } from '../../../../core/move/move-part.ts';
import type { LabelRequirement } from '../../../../core/object/selector.ts';
import { emptyPart } from '../../../../core/rollout/part.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { contribution } from '../../../../core/summary/contribution.ts';
import {
  countNames,
  decodePartial,
  emptyPartial,
  encodePartial,
  mergePartials,
  type Partial,
} from '../../../../core/summary/partial.ts';
import { mergeUserPartials } from '../../../../core/summary/user-partial.ts';
import { decodeUserPartial, encodeUserPartial } from '../../../../core/summary/user-partial-wire.ts';
import { field, fold, row, summarizer } from '../../core/summary/support.ts';

const none = Buffer.alloc(0);
const flawOf = (key: string, reported: { attributes?: Uint8Array; body?: Uint8Array }) =>
  reportedFlaw({ path: 'eu', role: 'relay' }, { key, attributes: none, body: none, ...reported })?.reason;
const partialFlaw = (body: Uint8Array) => flawOf('partial/center.retail/shop', { body });
const labelsFlaw = (attributes: Uint8Array) => flawOf('labels', { attributes });
const sumFlaw = (body: Uint8Array) => flawOf('sum/center.retail/shop/images', { body });
/** A liar writes any values. */
const raw = (falseReport: object) => Buffer.from(JSON.stringify(falseReport));

/** The highest number with which an entry is accepted, to a factor of two: no lie can be much larger. */
function greatest(flawWith: (n: number) => string | undefined): number {
  let n = Number.MAX_SAFE_INTEGER;
  while (n > 1 && flawWith(n) !== undefined) n = Math.floor(n / 2);
  expect(flawWith(n)).toBeUndefined();
  return n;
}

const partialOf = (counts: { readonly [name: string]: number }): Partial => {
  const empty = emptyPartial(1, 2);
  return { ...empty, counts: { ...empty.counts, ...counts } };
};
const honest = partialOf({ expected: 3, fresh: 2, never: 1, synced: 2, applied: 1 });
const nines = `"${'9'.repeat(60)}"`;
/** The reports of the parents of these nodes, level by level: each parent has this number of children of this kind. */
const levels = 4;
const childrenEach = 9;
const sumOf = <T>(child: T, other: T, add: (a: T, b: T) => T) =>
  Array.from({ length: childrenEach }, () => child).reduce(add, other);

describe('a parent of nodes that lie about their numbers', () => {
  it.each(['fresh', 'stale', 'never', 'quarantined'])('reports a partial that its own parent accepts: %s', (name) => {
    const known = name === 'fresh' || name === 'quarantined' ? countNames.slice(countNames.indexOf('synced')) : [];
    const falsePartial = (n: number) =>
      partialOf({ expected: n, [name]: n, ...Object.fromEntries(known.map((k) => [k, n])) });
    let reportedPartial = falsePartial(greatest((n) => partialFlaw(raw(falsePartial(n)))));
    for (let level = 0; level < levels; level++) {
      for (const more of [honest, falsePartial(1), reportedPartial])
        expect(partialFlaw(encodePartial(mergePartials(reportedPartial, more)))).toBeUndefined();
      const body = encodePartial(sumOf(reportedPartial, honest, mergePartials));
      expect(partialFlaw(body)).toBeUndefined();
      reportedPartial = decodePartial(body);
    }
  });

  it('reports a partial that its own parent accepts when they are silent, or outdated', () => {
    const falsePartial = (n: number) => partialOf({ expected: 2 * n, fresh: n, stale: n });
    const reported = falsePartial(greatest((n) => partialFlaw(raw(falsePartial(n)))));
    const wanted = { generation: 1, target: 2 };
    for (const now of [wanted, { generation: 1, target: 3 }, { generation: 2, target: 3 }]) {
      for (const connected of [true, false]) {
        const child = { reported, path: 'eu', connected, heardAtMs: 5, expected: undefined };
        expect(partialFlaw(encodePartial(contribution(now, child)))).toBeUndefined();
      }
    }
  });

  it('reports parts of a release and of a move that its own parent accepts', () => {
    const wave = (n: number) => ({ expected: n, fresh: n, exposed: n, available: n, failed: n });
    const withRelease = (n: number): Partial => ({
      ...honest,
      rollout: { ...emptyPart(1, 5), waves: [wave(n), wave(0)], barred: n },
    });
    const numbers = (n: number) => ({
      leaving: n,
      joining: n,
      done: n,
      serving: n,
      breaking: n,
      unknown: n,
      overdue: n,
    });
    const withMove = (n: number): Partial => ({
      ...honest,
      move: { ...emptyMovePart('BreakBeforeMake'), ...numbers(n), sequence: 7 },
    });
    const withSequence = (n: number): Partial => ({
      ...honest,
      move: { ...emptyMovePart('BreakBeforeMake'), sequence: n },
    });
    for (const falsePartial of [withRelease, withMove, withSequence]) {
      let reportedPartial = falsePartial(greatest((n) => partialFlaw(raw(falsePartial(n)))));
      for (let level = 0; level < levels; level++) {
        const body = encodePartial(sumOf(reportedPartial, falsePartial(1), mergePartials));
        expect(partialFlaw(body)).toBeUndefined();
        reportedPartial = decodePartial(body);
      }
    }
  });

  it('reports label summaries that its own parent accepts, and excludes no existing place', () => {
    const sets = (n: number): LabelSummary => ({ leaves: n, sets: [{ leaves: n, labels: { zone: 'a' } }] });
    const of = (leaves: number, keys: KeySummaries): LabelSummary => ({
      leaves,
      keys,
      properties: {},
      targetLabels: {},
    });
    const keyed = (n: number) => of(n, { zone: { present: n, values: { a: n }, complete: true } });
    const absent = of(1, { tier: { present: 1, values: { a: 1 }, complete: true } });
    const other = of(1, { zone: { present: 1, values: { b: 1 }, complete: true } });
    const add = (a: LabelSummary, b: LabelSummary) => mergeLabelSummaries([a, b]);
    const lacks: LabelRequirement = { key: 'zone', operator: 'DoesNotExist' };
    const differs: LabelRequirement = { key: 'zone', operator: 'NotIn', values: ['a'] };
    for (const falseSummary of [sets, keyed]) {
      for (const [honest, requirement] of [
        [absent, lacks],
        [other, differs],
        [absent, differs],
      ] as const) {
        let reportedSummary = falseSummary(greatest((n) => labelsFlaw(raw(falseSummary(n)))));
        for (let level = 0; level < levels; level++) {
          const attributes = encodeLabelSummary(sumOf(reportedSummary, honest, add));
          expect(labelsFlaw(attributes)).toBeUndefined();
          reportedSummary = decodeLabelSummary(attributes);
          expect(matchSummary({ selectors: [{ matchExpressions: [requirement] }] }, reportedSummary).matches).toBe(
            true,
          );
        }
      }
    }
  });

  it('reports user summaries that its own parent accepts', () => {
    const subject = 'returned.status.value';
    const fields = ['COUNT', 'SUM', 'AVG', 'MIN', 'MAX', 'P50', 'DISTINCT', 'TOPK'] as const;
    const of = summarizer({
      groupBy: [{ name: 'group', def: 'obj.group' }],
      combinedFields: fields.map((type) => field(type.toLowerCase(), type, subject, 3)),
    });
    const one = fold(of, [row({ path: 'eu:a', obj: { group: 'g' }, status: { value: 4 } })]);
    const failed = fold(of, [row({ path: 'eu:b', obj: {}, status: { value: 4 } })]);
    const json = asText(encodeUserPartial(mergeUserPartials(one, failed)));
    // Every 1 in it is a count.
    const falsePartialBytes = (n: number) =>
      Buffer.from(json.replace(/(?<=[[:,])1(?=[\],}])/g, `${n}`).replaceAll('"4000000000"', nines));
    let reportedPartial = decodeUserPartial(falsePartialBytes(greatest((n) => sumFlaw(falsePartialBytes(n)))));
    for (let level = 0; level < levels; level++) {
      const body = encodeUserPartial(sumOf(reportedPartial, one, mergeUserPartials));
      expect(sumFlaw(body)).toBeUndefined();
      reportedPartial = decodeUserPartial(body);
    }
  });
});
