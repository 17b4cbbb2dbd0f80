import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asText } from '../../../../core/store/bytes.ts';
import { SegmentTree } from '../../../../core/summary/segment-tree.ts';
import type { Summarizer } from '../../../../core/summary/summarizer.ts';
import { summaryTable } from '../../../../core/summary/summary-table.ts';
import { mergeUserPartials, type UserPartial } from '../../../../core/summary/user-partial.ts';
import { decodeUserPartial, encodeUserPartial } from '../../../../core/summary/user-partial-wire.ts';
import { field, type RowGiven, row, summarizer } from './support.ts';

const subject = 'returned.status.value';

/** All aggregates, with reached bounds and errors. */
const grouped = summarizer({
  filter: 'obj.filter',
  groupBy: [{ name: 'group', def: 'obj.group' }],
  combinedFields: [
    field('rows', 'COUNT'),
    field('values', 'COUNT', subject),
    field('sum', 'SUM', subject),
    field('mean', 'AVG', subject),
    field('least', 'MIN', subject),
    field('most', 'MAX', subject),
    field('different', 'DISTINCT', subject),
    field('p50', 'P50', subject),
    field('p99', 'P99', subject),
    field('top', 'TOPK', subject, 3),
  ],
  maxGroups: 3,
  orderBy: [{ name: 'sum', descending: true }],
});
const selected = summarizer({
  filter: 'obj.filter',
  select: [
    { name: 'group', def: 'obj.group' },
    { name: 'value', def: subject },
  ],
  limit: 4,
});

const value = fc.oneof(
  fc.constant(undefined),
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant('not a number'),
);
const rowArbitrary = fc.record({
  filter: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  group: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.constantFrom('a', 'b', null)),
  value,
});
const rowsArbitrary = fc
  .array(rowArbitrary, { maxLength: 40 })
  .map((rows) =>
    rows.map(({ filter, group, value }, i): RowGiven => ({ path: `p${i}`, obj: { filter, group }, status: { value } })),
  );

/** The events of a slot: a row comes, comes again, or goes and comes back. */
const stepsArbitrary = fc.array(fc.record({ at: fc.nat(39), gone: fc.boolean() }), { maxLength: 60 });

const textOf = (partial: UserPartial) => asText(encodeUserPartial(partial));
const restarted = (partial: UserPartial) => decodeUserPartial(encodeUserPartial(partial));

function leaves(of: Summarizer, rows: readonly RowGiven[]): UserPartial[] {
  return rows.map((given) => of.evaluate(row(given)) ?? of.empty);
}

function fold(of: Summarizer, partials: readonly UserPartial[]): UserPartial {
  return partials.reduce(mergeUserPartials, of.empty);
}

describe.each([
  ['grouped', grouped],
  ['selected', selected],
])('a %s summary', (_, of) => {
  it('is the same for any order and any tree of merges, with restarts between them', () => {
    fc.assert(
      fc.property(rowsArbitrary, fc.infiniteStream(fc.nat(1_000)), (rows, chance) => {
        const draw = (below: number) => chance.next().value % below;
        const partials = leaves(of, rows);
        const expected = textOf(fold(of, partials));
        const waiting = [of.empty, ...partials];
        while (waiting.length > 1) {
          const [a] = waiting.splice(draw(waiting.length), 1);
          const [b] = waiting.splice(draw(waiting.length), 1);
          const merged = mergeUserPartials(a!, b!);
          waiting.push(draw(3) === 0 ? restarted(merged) : merged);
        }
        expect(textOf(waiting[0]!)).toBe(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('is the same through three levels of nodes, whose children come, go, repeat their reports and restart', () => {
    fc.assert(
      fc.property(rowsArbitrary, stepsArbitrary, (rows, steps) => {
        const partials = leaves(of, rows);
        const relays = [0, 1, 2].map(() => new SegmentTree(mergeUserPartials));
        const center = new SegmentTree(mergeUserPartials);
        const there = new Set<number>();
        const report = (i: number, gone: boolean) => {
          const relay = relays[i % 3]!;
          if (gone) relay.delete(`child-${i}`);
          else relay.set(`child-${i}`, partials[i]!);
          if (gone) there.delete(i);
          else there.add(i);
          const total = relay.total();
          if (total) center.set(`relay-${i % 3}`, restarted(total));
          else center.delete(`relay-${i % 3}`);
        };
        for (const i of rows.keys()) report(i, false);
        for (const { at, gone } of steps) if (at < rows.length) report(at, gone);
        const kept = partials.filter((_, i) => there.has(i));
        expect(textOf(center.total() ?? of.empty)).toBe(textOf(fold(of, kept)));
        expect(summaryTable(of, center.total() ?? of.empty)).toEqual(summaryTable(of, fold(of, kept)));
      }),
      { numRuns: 300 },
    );
  });

  it('is unchanged by the wire', () => {
    fc.assert(
      fc.property(rowsArbitrary, (rows) => {
        const partial = fold(of, leaves(of, rows));
        expect(restarted(partial)).toEqual(partial);
      }),
    );
  });
});

describe('the bounds', () => {
  it('of a sketch keep the highest values, in any order', () => {
    const of = summarizer({ combinedFields: [field('p50', 'P50', 'obj.value')] });
    fc.assert(
      fc.property(
        fc.array(fc.double({ noNaN: true, min: -1e300, max: 1e300 }), { minLength: 1, maxLength: 20 }),
        (values) => {
          const rows = values.map((value, i) => ({ path: `p${i}`, obj: { value } }));
          const partials = leaves(of, rows);
          expect(textOf(fold(of, partials))).toBe(textOf(fold(of, [...partials].reverse())));
        },
      ),
    );
  });

  it('of an encoded partial halve its groups if it is too large, and lose no row', () => {
    const of = summarizer({
      groupBy: [{ name: 'g', def: 'obj.name' }],
      combinedFields: [field('n', 'COUNT'), field('top', 'TOPK', 'obj.name'), field('more', 'TOPK', 'obj.name + "x"')],
    });
    const long = 'x'.repeat(200);
    const rows = Array.from({ length: 1000 }, (_, i) => ({ path: `p${i}`, obj: { name: `${long}${i}` } }));
    const halves = (partials: UserPartial[]): UserPartial =>
      partials.length === 1
        ? partials[0]!
        : mergeUserPartials(
            halves(partials.slice(0, partials.length >> 1)),
            halves(partials.slice(partials.length >> 1)),
          );
    const whole = halves(leaves(of, rows));
    const bytes = encodeUserPartial(whole);
    expect(bytes.length).toBeLessThanOrEqual(1024 * 1024);
    const { content, rows: count } = decodeUserPartial(bytes);
    if (content.form !== 'grouped') throw new Error('a grouped partial is expected');
    expect(content.groups.size).toBeLessThan(1000);
    expect(content.groups.size).toBeGreaterThan(100);
    expect([...content.groups.values()].reduce((sum, group) => sum + group.rows, content.rest?.rows ?? 0)).toBe(count);
  });
});

describe('a partial from a child', () => {
  const good = encodeUserPartial(
    fold(grouped, leaves(grouped, [{ path: 'p', obj: { filter: true, group: 1 }, status: { value: 3 } }])),
  );

  it.each([
    ['text', 'no JSON'],
    ['{}', 'a summary that is not valid'],
    [asText(good).replace('"rows":1', '"rows":-1'), 'a summary that is not valid'],
    [asText(good).replace('["3000000000",1]', '["3.5",1]'), 'a cell of sum'],
    [asText(good).replace('"groupsMax":3', '"groupsMax":100000'), 'a summary that is not valid'],
    [asText(good).replace('"count"', '"counts"'), 'a summary that is not valid'],
  ])('is refused if it is invalid: %s', (text, message) => {
    expect(text).not.toBe(asText(good));
    expect(() => decodeUserPartial(Buffer.from(text))).toThrow(message);
  });
});
