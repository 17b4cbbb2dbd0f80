import { expect, test } from 'vitest';
import { beyondLimits, depthMax } from '../../../../core/object/json-limits.ts';

/** This number of nested objects. */
const nested = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);

test('exactly the limit of levels is accepted, and one more is not', () => {
  expect(beyondLimits(nested(depthMax))).toBeUndefined();
  expect(beyondLimits(nested(depthMax + 1))).toBe(
    'a.a.a.a.a...: it is nested more than 500 levels deep: make it flatter, or write it as a string',
  );
});

test('a broad value is not deep, and lists count as levels', () => {
  expect(beyondLimits({ items: Array.from({ length: 10_000 }, () => ({ a: [1, null, 'x'] })) })).toBeUndefined();
  const list: unknown = JSON.parse(`${'['.repeat(depthMax)}${']'.repeat(depthMax)}`);
  expect(beyondLimits({ spec: [0, list] })).toMatch(/^spec\.1\.0\.0\.0\.\.\.: /);
});

test('the amount above the limit makes no difference', () => {
  expect(beyondLimits(nested(100_000))).toBeDefined();
});
