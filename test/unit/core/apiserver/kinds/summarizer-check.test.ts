import { describe, expect, it } from 'vitest';
import { checkSummarizer } from '../../../../../core/apiserver/kinds/summarizer-check.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import type { SummarizerSpec } from '../../../../../core/summary/summarizer-spec.ts';
import { refusal, testSpace } from './space-support.ts';

function summarizer(spec: object): KubeObject {
  return { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'StatusSummarizer', metadata: { name: 'images' }, spec };
}

function causes(spec: object): string[] {
  const { space } = testSpace();
  return (refusal(() => space.create(summarizer(spec))).details.causes ?? []).map(
    ({ field, message }) => `${field}: ${message}`,
  );
}

const count = [{ name: 'n', type: 'COUNT' }];
const sum = (subject: string) => ({ combinedFields: [{ name: 'sum', type: 'SUM', subject }] });

describe('a StatusSummarizer', () => {
  it('is accepted with every field', () => {
    const { space } = testSpace();
    const spec = {
      filter: 'propagation.failed || obj.kind == "Deployment"',
      groupBy: [{ name: 'region', def: 'inventory.labels[?"region"]' }],
      combinedFields: [
        { name: 'n', type: 'COUNT' },
        { name: 'cpu', type: 'SUM', subject: 'quantity(obj.spec.cpu)' },
        {
          name: 'age',
          type: 'P99',
          subject: 'timestamp(returned.status.a) - timestamp(obj.metadata.creationTimestamp)',
        },
        { name: 'maybe', type: 'MAX', subject: 'returned.?status.?replicas' },
      ],
      having: 'n > 1 && cpu > 0.5',
      orderBy: [{ name: 'n' }],
    };
    const created = space.create(summarizer(spec)).spec as { limit: number; maxGroups: number; orderBy: object[] };
    expect(created).toMatchObject({ limit: 20, maxGroups: 1000, orderBy: [{ name: 'n' }] });
  });

  it.each([
    [
      'a filter that does not compile',
      { filter: 'obj.', combinedFields: count },
      /^spec\.filter: Invalid value: "obj\.": compilation failed: /,
    ],
    [
      'a filter that is no boolean',
      { filter: '"yes"', combinedFields: count },
      /^spec\.filter: .*must be of type bool, is string$/,
    ],
    [
      'a variable that there is not',
      { filter: 'object.kind == "Pod"', combinedFields: count },
      /^spec\.filter: .*object/,
    ],
    [
      'a field of the destination that there is not',
      { filter: 'inventory.nmae == "a"', combinedFields: count },
      /^spec\.filter: .*no such key: nmae$/,
    ],
    [
      'a group that is a map',
      { groupBy: [{ name: 'g', def: 'inventory.labels' }], combinedFields: count },
      /^spec\.groupBy\[0\]\.def: .*must be a text, a number, true, false or null; this is of type map<string, string>$/,
    ],
    [
      'a column that is a list',
      { select: [{ name: 'c', def: '[1, 2]' }] },
      /^spec\.select\[0\]\.def: .*this is of type list/,
    ],
    [
      'a SUM of texts',
      sum('inventory.name'),
      /^spec\.combinedFields\[0\]\.subject: Invalid value: "inventory\.name": SUM needs a number, this is of type string$/,
    ],
    [
      'a SUM of booleans',
      sum('propagation.failed'),
      /SUM needs a number, this is of type bool; write: expression \? 1 : 0$/,
    ],
    [
      'a TOPK of maps',
      { combinedFields: [{ name: 't', type: 'TOPK', subject: 'inventory.labels' }] },
      /TOPK needs a text, a number, true or false; this is of type map/,
    ],
    [
      'a SUM without a subject',
      { combinedFields: [{ name: 's', type: 'SUM' }] },
      /^spec\.combinedFields\[0\]\.subject: Required value: a subject is needed; only COUNT works without one, and then counts rows$/,
    ],
    [
      'an aggregate that there is not',
      { combinedFields: [{ name: 's', type: 'MEDIAN', subject: '1' }] },
      /^spec\.combinedFields\[0\]\.type: Unsupported value: "MEDIAN"/,
    ],
    [
      'a limit of 0',
      { select: [{ name: 'c', def: 'obj.kind' }], limit: 0 },
      /^spec\.limit: .*greater than or equal to 1/,
    ],
    [
      'a limit beyond what an object holds',
      { select: [{ name: 'c', def: 'obj.kind' }], limit: 201 },
      /^spec\.limit: .*less than or equal to 200/,
    ],
    [
      'both forms',
      { select: [{ name: 'c', def: 'obj.kind' }], combinedFields: count },
      /^spec: .*exactly one of select .* and combinedFields/,
    ],
    ['neither form', { filter: 'true' }, /^spec: .*exactly one of select/],
    [
      'select with groupBy',
      { select: [{ name: 'c', def: 'obj.kind' }], groupBy: [{ name: 'g', def: 'obj.kind' }] },
      /^spec\.groupBy: Forbidden: groupBy goes with combinedFields/,
    ],
    [
      'select with having',
      { select: [{ name: 'c', def: 'obj.kind' }], having: 'true' },
      /^spec\.having: Forbidden: .*spec\.filter$/,
    ],
    [
      'a name twice',
      { groupBy: [{ name: 'n', def: 'obj.kind' }], combinedFields: count },
      /^spec\.combinedFields\[0\]\.name: Duplicate value: "n"$/,
    ],
    [
      'a name that no expression could use',
      { combinedFields: [{ name: 'no-name', type: 'COUNT' }] },
      /^spec\.combinedFields\[0\]\.name: .*no-name/,
    ],
    [
      'an order by what is no column',
      { combinedFields: [{ name: 'total', type: 'COUNT' }], orderBy: [{ name: 'totl' }] },
      /^spec\.orderBy\[0\]\.name: Invalid value: "totl": no column has this name; did you mean "total"\?$/,
    ],
    [
      'having of what is no column',
      { combinedFields: count, having: 'm > 1' },
      /^spec\.having: .*compilation failed: unknown variable: m/i,
    ],
    [
      'having that is no boolean',
      { combinedFields: count, having: '"n"' },
      /^spec\.having: .*must be of type bool, is string$/,
    ],
  ])('is refused with %s', (_, spec, message) => {
    // The last cause says that rules were not checked, if there is one.
    expect(causes(spec).filter((cause) => !cause.startsWith('<nil>'))).toEqual([expect.stringMatching(message)]);
  });

  it('that an older version accepted can still be edited, except for its invalid field', () => {
    const wrong: SummarizerSpec = {
      filter: 'nothing',
      combinedFields: [{ name: 'n', type: 'COUNT', k: 10 }],
      limit: 20,
      maxGroups: 1000,
    };
    expect(checkSummarizer(wrong, wrong)).toEqual([]);
    expect(checkSummarizer({ ...wrong, limit: 3 }, wrong)).toHaveLength(1);
  });
});
