import { expect, it } from 'vitest';
import { type Summary, summaryWrong } from '../../../sim/check/summaries.ts';

const at = (path: string, env: string | undefined, n: number) => ({
  place: { path, labels: env === undefined ? {} : { env }, annotations: {}, properties: {} },
  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { n: `${n}` } },
});
const delivered = [at('a', 'prod', 3), at('b', 'prod', 5), at('c', undefined, 1)];
const summary = (columns: readonly unknown[][], completeness: object = {}): Summary => ({
  rows: columns.map((one) => ({ columns: one })),
  completeness: { expected: 3, fresh: 3, outdated: 0, ...completeness },
});
const right = [
  ['none', 1, 1, 1, 1],
  ['prod', 2, 8, 3, 5],
];

it('accepts a summary that is the fold over the leaves, in any order, and no summary if there are none', () => {
  expect(summaryWrong(summary(right), 3, delivered)).toBeUndefined();
  expect(summaryWrong(undefined, 0, [])).toBeUndefined();
});

it.each<[string, Summary | undefined]>([
  ['it is not there', undefined],
  ['a child is counted twice', summary([right[0]!, ['prod', 3, 13, 3, 5]])],
  ['a group is left over', summary([...right, ['test', 1, 1, 1, 1]])],
  ['the greatest was retracted and is still told', summary([right[0]!, ['prod', 2, 8, 3, 9]])],
  ['it is of fewer places', summary(right, { fresh: 2, stale: 1 })],
  ['some are of older targets', summary(right, { outdated: 1 })],
])('finds a summary in which %s', (_, summary) => {
  expect(summaryWrong(summary, 3, delivered)).toBeDefined();
});
