import { describe, expect, it } from 'vitest';
import { field, lines, type RowGiven, row, summarizer, table } from './support.ts';

const shops = (...values: unknown[]): RowGiven[] =>
  values.map((value, i) => ({ path: `eu:shop-${i}`, status: value === undefined ? {} : { value } }));
const subject = 'returned.status.value';

describe('aggregates', () => {
  it('COUNT counts all rows without a subject, and the rows with a value otherwise', () => {
    const of = summarizer({ combinedFields: [field('all', 'COUNT'), field('some', 'COUNT', subject)] });
    expect(lines(of, shops(1, undefined, 'x', null))).toEqual([[4, 2]]);
  });

  it('AVG divides by the rows that have a value', () => {
    const of = summarizer({ combinedFields: [field('mean', 'AVG', subject)] });
    expect(lines(of, shops(1, undefined, 4, null, 2))).toEqual([['2.333333333']]);
  });

  it('SUM is exact where binary fractions are not, and beyond the whole numbers of JSON', () => {
    const of = summarizer({ combinedFields: [field('sum', 'SUM', subject)] });
    expect(lines(of, shops(0.1, 0.2, 0.3))).toEqual([['0.6']]);
    expect(lines(of, shops(9007199254740991, 2))).toEqual([['9007199254740993']]);
    expect(lines(of, shops(5, -8))).toEqual([[-3]]);
  });

  it('SUM accepts quantities and durations, the latter in seconds', () => {
    const quantities = summarizer({ combinedFields: [field('sum', 'SUM', `quantity(${subject})`)] });
    expect(lines(quantities, shops('100m', '1.5', '1Ki'))).toEqual([['1025.6']]);
    const durations = summarizer({ combinedFields: [field('sum', 'SUM', `duration(${subject})`)] });
    expect(lines(durations, shops('1m30s', '500ms'))).toEqual([['90.5']]);
  });

  it('MIN and MAX cover the present rows, and forget removed ones', () => {
    const of = summarizer({ combinedFields: [field('least', 'MIN', subject), field('most', 'MAX', subject)] });
    expect(lines(of, shops(3, -2.5, 7, undefined))).toEqual([['-2.5', 7]]);
    expect(lines(of, shops(3, undefined))).toEqual([[3, 3]]);
  });

  it('DISTINCT counts different values; a number and its text are different', () => {
    const of = summarizer({ combinedFields: [field('different', 'DISTINCT', subject)] });
    expect(lines(of, shops(1, '1', 'a', 'a', undefined, true))).toEqual([[4]]);
  });

  it('P50, P90 and P99 are within 1 %', () => {
    const of = summarizer({
      combinedFields: [field('p50', 'P50', subject), field('p90', 'P90', subject), field('p99', 'P99', subject)],
    });
    const values = Array.from({ length: 1001 }, (_, i) => (i * 7919) % 1001);
    const [found] = lines(of, shops(...values)) as [[number, number, number]];
    for (const [i, exact] of [500, 900, 990].entries()) {
      expect(Math.abs(Number(found[i]) - exact)).toBeLessThanOrEqual(exact * 0.01);
    }
    expect(lines(of, shops(-5, -5, 0))[0]).toEqual([
      expect.stringMatching(/^-(4\.9[5-9]|5\.0[0-5])/),
      expect.anything(),
      expect.anything(),
    ]);
  });

  it('TOPK returns the most frequent values with their counts, and equal counts by value', () => {
    const of = summarizer({ combinedFields: [field('top', 'TOPK', subject, 2)] });
    expect(lines(of, shops('b', 'a', 'c', 'b', 'a', undefined))).toEqual([
      [
        [
          { value: 'a', count: 2 },
          { value: 'b', count: 2 },
        ],
      ],
    ]);
  });

  it('TOPK finds a frequent value among thousands of rare ones', () => {
    const of = summarizer({ combinedFields: [field('top', 'TOPK', subject, 1)] });
    const values = Array.from({ length: 4000 }, (_, i) => (i % 2 === 0 ? 'often' : `rare-${i}`));
    const [[[top]]] = lines(of, shops(...values)) as [[[{ value: string; count: number }]]];
    expect(top.value).toBe('often');
    // Five times the standard error, or exact if its hash is among the smallest.
    expect(Math.abs(top.count - 2000)).toBeLessThanOrEqual(4000 * 0.22);
  });

  it('over no rows is 0 for COUNT, SUM and DISTINCT, and absent for the others', () => {
    const of = summarizer({
      filter: 'false',
      combinedFields: [
        field('rows', 'COUNT'),
        field('values', 'COUNT', subject),
        field('sum', 'SUM', subject),
        field('different', 'DISTINCT', subject),
        field('mean', 'AVG', subject),
        field('least', 'MIN', subject),
        field('most', 'MAX', subject),
        field('p50', 'P50', subject),
        field('top', 'TOPK', subject),
      ],
    });
    expect(lines(of, shops(1, 2))).toEqual([[0, 0, 0, 0, null, null, null, null, []]]);
    expect(table(of, []).total).toBe(0);
  });

  it('over no rows has no group where there are groups', () => {
    const of = summarizer({
      groupBy: [{ name: 'zone', def: 'inventory.labels.zone' }],
      combinedFields: [field('n', 'COUNT')],
    });
    expect(lines(of, [])).toEqual([]);
  });
});

describe('groups', () => {
  const byRegion = { groupBy: [{ name: 'region', def: 'inventory.labels.region' }] };
  const placed = (region: string, replicas: number, i: number): RowGiven => ({
    path: `${region}:shop-${i}`,
    labels: { region },
    obj: { spec: { image: `web:${replicas % 2}` } },
    status: { replicas },
  });
  const rows = [placed('eu', 3, 1), placed('us', 2, 2), placed('eu', 4, 3)];

  it('are formed by the values of their expressions, and ordered by them', () => {
    const of = summarizer({
      groupBy: [...byRegion.groupBy, { name: 'image', def: 'obj.spec.image' }],
      combinedFields: [field('replicas', 'SUM', 'returned.status.replicas')],
    });
    expect(table(of, rows).columns).toEqual([
      { name: 'region', type: 'Any' },
      { name: 'image', type: 'Any' },
      { name: 'replicas', type: 'Number' },
    ]);
    expect(lines(of, rows)).toEqual([
      ['eu', 'web:0', 4],
      ['eu', 'web:1', 3],
      ['us', 'web:0', 2],
    ]);
  });

  it('are excluded by having, which reads the columns', () => {
    const of = summarizer({
      ...byRegion,
      combinedFields: [field('sum', 'SUM', 'returned.status.replicas')],
      having: 'sum > 2',
    });
    expect(lines(of, rows)).toEqual([['eu', 7]]);
  });

  it('are excluded if having fails, and the failures are counted', () => {
    const of = summarizer({
      ...byRegion,
      combinedFields: [field('mean', 'AVG', 'returned.status.x')],
      having: 'mean > 1',
    });
    expect(lines(of, rows)).toEqual([]);
    expect(table(of, rows).rowErrors.count).toBe(2);
  });

  it('compares in having as numbers the values that JSON stores as text', () => {
    const of = summarizer({
      ...byRegion,
      combinedFields: [field('mean', 'AVG', 'returned.status.replicas')],
      having: 'mean > 3',
    });
    expect(lines(of, rows)).toEqual([['eu', '3.5']]);
  });

  it('are ordered by orderBy, absent values last', () => {
    const fields = [field('sum', 'SUM', 'returned.status.replicas'), field('least', 'MIN', 'returned.status.x')];
    const of = summarizer({ ...byRegion, combinedFields: fields, orderBy: [{ name: 'sum', descending: true }] });
    expect(lines(of, rows)).toEqual([
      ['eu', 7, null],
      ['us', 2, null],
    ]);
    const byLeast = summarizer({ ...byRegion, combinedFields: fields, orderBy: [{ name: 'least', descending: true }] });
    const one = { path: 'us:shop-9', labels: { region: 'us' }, status: { replicas: 1, x: 5 } };
    expect(lines(byLeast, [...rows, one]).map((columns) => (columns as string[])[0])).toEqual(['us', 'eu']);
  });

  it('of ten thousand are reduced to a thousand exact ones, and one for the others', () => {
    const of = summarizer({
      groupBy: [{ name: 'name', def: 'obj.name' }],
      combinedFields: [field('n', 'COUNT'), field('sum', 'SUM', 'obj.value')],
    });
    const many = Array.from({ length: 20_000 }, (_, i) => ({
      path: `p${i}`,
      obj: { name: `group-${i % 10_000}`, value: i },
    }));
    const { rows: shown, dropped, errorBound, total } = table(of, many);
    expect(shown).toHaveLength(1001);
    const other = shown.at(-1)!.columns;
    expect(other[0]).toBe('__other__');
    expect(other[1]).toBe(18_000);
    expect([total, errorBound]).toEqual([20_000, 18_000]);
    expect(Math.abs(dropped! - 9_000)).toBeLessThan(9_000 * 0.15);
    for (const { columns } of shown.slice(0, -1)) {
      const i = Number(String(columns[0]).slice('group-'.length));
      expect(columns.slice(1)).toEqual([2, 2 * i + 10_000]);
    }
    const all = shown.reduce((sum, { columns }) => sum + Number(columns[2]), 0);
    expect(all).toBe((20_000 * 19_999) / 2);
  });
});

describe('a selection', () => {
  const failing = Array.from({ length: 50 }, (_, i): RowGiven => ({ path: `eu:shop-${i}`, failed: i % 2 === 0 }));
  const select = [
    { name: 'shop', def: 'inventory.name' },
    { name: 'reason', def: 'propagation.reason' },
  ];

  it('shows the columns of the rows that pass the filter, up to the limit, with the true total', () => {
    const of = summarizer({ filter: 'propagation.failed', select, limit: 7 });
    const shown = table(of, failing);
    expect(shown.total).toBe(25);
    expect(shown.rows).toHaveLength(7);
    for (const { columns } of shown.rows)
      expect(columns).toEqual([expect.stringMatching(/^eu:shop-\d*[02468]$/), 'Broken']);
  });

  it('is a sample that does not depend on the contents of the rows', () => {
    const of = summarizer({ select, limit: 7 });
    const other = failing.map((given) => ({ ...given, failed: !given.failed }));
    const names = (rows: RowGiven[]) => lines(of, rows).map((columns) => (columns as string[])[0]);
    expect(names(failing)).toEqual(names(other));
  });

  it('shows missing values as null, and cuts long ones', () => {
    const of = summarizer({
      select: [
        { name: 'a', def: 'returned.status.nope' },
        { name: 'b', def: 'obj.text' },
      ],
    });
    const [[nothing, long]] = lines(of, [{ path: 'p', obj: { text: 'x'.repeat(10_000) } }]) as [[null, string]];
    expect(nothing).toBeNull();
    expect(long).toHaveLength(512);
  });
});

describe('errors of rows', () => {
  const bad: RowGiven = { path: 'eu:bad', status: { value: 'abc' }, obj: { text: 'x'.repeat(2_000) } };
  const good: RowGiven = { path: 'eu:good', status: { value: 2 } };

  it('SUM over a string is an error of the row, with the message, and the row is not counted', () => {
    const of = summarizer({ combinedFields: [field('n', 'COUNT'), field('sum', 'SUM', subject)] });
    const { rows, rowErrors, total } = table(of, [bad, good]);
    expect(rows).toEqual([{ columns: [1, 2] }]);
    expect(total).toBe(1);
    expect(rowErrors).toEqual({
      count: 1,
      sample: [
        {
          path: 'eu:bad',
          object: 'deployments.apps shop/till',
          field: 'spec.combinedFields[1].subject',
          message: 'SUM needs a number up to 10^30, the value is the string "abc"',
        },
      ],
    });
  });

  it('are counted in a selection too', () => {
    const of = summarizer({ select: [{ name: 'half', def: '10 / returned.status.value' }] });
    const { rows, rowErrors } = table(of, [{ path: 'eu:zero', status: { value: 0 } }, good]);
    expect(rows).toEqual([{ columns: [5] }]);
    expect(rowErrors).toMatchObject({
      count: 1,
      sample: [{ path: 'eu:zero', field: 'spec.select[0].def', message: 'division by zero' }],
    });
  });

  it.each([
    [
      'a filter that names what is not there',
      { filter: 'returned.status.nope == 1' },
      'spec.filter',
      'no such key: nope',
    ],
    [
      'a filter that is no boolean',
      { filter: 'returned.status.value' },
      'spec.filter',
      'must be true or false, is the string "abc"',
    ],
    [
      'a group that is a map',
      { groupBy: [{ name: 'g', def: 'returned.status' }] },
      'spec.groupBy[0].def',
      'must be a text, a number, true, false or null, is a map',
    ],
    [
      'a group whose key is missing',
      { groupBy: [{ name: 'g', def: 'inventory.labels.zone' }] },
      'spec.groupBy[0].def',
      'no such key: zone',
    ],
    [
      'a group that is too long',
      { groupBy: [{ name: 'g', def: 'obj.text' }] },
      'spec.groupBy',
      'the values take more than 1024 bytes: shorten them with substring(0, 64)',
    ],
    [
      'a value that is too long',
      { combinedFields: [field('top', 'TOPK', 'obj.text')] },
      'spec.combinedFields[0].subject',
      'the value takes more than 256 bytes: shorten it with substring(0, 64)',
    ],
    [
      'a list where values are counted',
      { combinedFields: [field('d', 'DISTINCT', '[1, 2]')] },
      'spec.combinedFields[0].subject',
      'DISTINCT needs a text, a number, true or false, the value is a list',
    ],
    [
      'an expression that costs too much',
      {
        filter:
          '[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, a+b+c+d > 0))))',
      },
      'spec.filter',
      'expression exceeds its cost limit; use fewer loops inside of others, or shorter lists and texts',
    ],
  ])('%s', (_, spec, at, message) => {
    const of = summarizer({ combinedFields: [field('n', 'COUNT')], ...spec });
    expect(table(of, [bad]).rowErrors).toMatchObject({ count: 1, sample: [{ field: at, message }] });
  });

  it('are a count and a sample of ten, whatever their number', () => {
    const of = summarizer({ combinedFields: [field('sum', 'SUM', subject)] });
    const { count, sample } = table(of, shops(...Array.from({ length: 100 }, () => 'x'))).rowErrors;
    expect([count, sample.length]).toEqual([100, 10]);
    expect(sample[0]!.path).toBe('eu:shop-0');
  });
});

describe('a summarizer', () => {
  it('reads only the variables and fields that it names', () => {
    const asked: [string, string[] | undefined][] = [];
    const given = row({ path: 'p', obj: { spec: { a: 1 } } });
    const of = summarizer({ combinedFields: [field('sum', 'SUM', 'obj.spec.a'), field('n', 'COUNT', 'obj.kind')] });
    of.evaluate({
      ...given,
      variable: (name, fields) => {
        asked.push([name, fields && [...fields]]);
        return given.variable(name, fields);
      },
    });
    expect(asked).toEqual([['obj', ['spec', 'kind']]]);
  });

  it('has the same fingerprint if only its presentation changes', () => {
    const base = { combinedFields: [field('n', 'COUNT')] };
    const { fingerprint } = summarizer(base);
    expect(summarizer({ ...base, having: 'n > 1', orderBy: [{ name: 'n', descending: true }] }).fingerprint).toBe(
      fingerprint,
    );
    expect(summarizer({ ...base, filter: 'true' }).fingerprint).not.toBe(fingerprint);
  });
});
