import { expect, it } from 'vitest';
import { SharedValues } from '../../../../core/object/shared-values.ts';

it('returns the first of all equal values', () => {
  const shared = new SharedValues();
  const first = shared.of(['retail/shops']);
  expect(shared.of(['retail/shops'])).toBe(first);
  expect(shared.of(['retail/shops', 'retail/tills'])).toEqual(['retail/shops', 'retail/tills']);
});

it('distinguishes values that differ only in their type', () => {
  const shared = new SharedValues();
  expect([shared.of('1'), shared.of(1), shared.of(null), shared.of(undefined), shared.of([])]).toEqual([
    '1',
    1,
    null,
    undefined,
    [],
  ]);
});

it('starts anew when it has stored many values, and still returns equal values', () => {
  const shared = new SharedValues();
  const first = shared.of({ name: 'first' });
  for (let i = 0; i < 1_023; i++) shared.of({ i });
  expect(shared.of({ name: 'first' })).toBe(first);
  shared.of({ i: 'one too many' });
  const second = shared.of({ name: 'first' });
  expect(second).toEqual(first);
  expect(second).not.toBe(first);
});
