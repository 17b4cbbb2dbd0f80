import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsedIds } from '../../../../core/stream/used-ids.ts';

describe('stream ids of the other side', () => {
  it('are accepted once each, in whatever order their calls come', () => {
    const ids = fc.uniqueArray(fc.nat(200).map((n) => 2 * n + 1));
    fc.assert(
      fc.property(ids, (order) => {
        const used = new UsedIds(1, 512);
        expect(order.map((id) => used.take(id))).toEqual(order.map(() => true));
        expect(order.map((id) => used.take(id))).toEqual(order.map(() => false));
      }),
      { seed: 5 },
    );
  });

  it('are never of this side', () => {
    expect([1, 2, 3, 0].map((id) => new UsedIds(1, 8).take(id))).toEqual([true, false, true, false]);
    expect([1, 2, 3, 0].map((id) => new UsedIds(2, 8).take(id))).toEqual([false, true, false, false]);
  });

  it('that were passed over are remembered up to the limit, the last ones, however large a jump is', () => {
    const used = new UsedIds(1, 3);
    expect(used.take(2 ** 52 + 1)).toBe(true);
    expect([2 ** 52 - 7, 2 ** 52 - 5, 2 ** 52 - 3, 2 ** 52 - 1].map((id) => used.take(id))).toEqual([
      ...[false, true, true, true],
    ]);
    for (const id of [5, 9, 13]) expect(used.take(2 ** 52 + id)).toBe(true);
    expect([3, 7, 11, 11].map((id) => used.take(2 ** 52 + id))).toEqual([true, true, true, false]);
  });
});
