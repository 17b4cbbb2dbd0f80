import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountOf, isSpent, shareOf } from '../../../../core/rollout/budget.ts';

describe('an amount', () => {
  it.each([
    [3, 100, 3],
    ['10%', 100, 10],
    ['10%', 6, 1],
    ['0%', 6, 0],
  ])('%s of %i is %i', (amount, total, is) => {
    expect(amountOf(amount, total)).toBe(is);
  });

  it.each([
    [3, 10, 100, 1],
    [3, 50, 100, 2],
    ['10%', 25, 100, 3],
    [0, 10, 100, 1],
    [5, 4, 0, 5],
  ])('%s has for %i of %i a share of %i', (amount, local, total, is) => {
    expect(shareOf(amount, local, total)).toBe(is);
  });

  it('is exceeded by all shares together by less than one for each share', () => {
    const amount = fc.integer({ min: 1, max: 50 });
    fc.assert(
      fc.property(amount, fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 20 }), (n, locals) => {
        const total = locals.reduce((a, b) => a + b, 0);
        const shared = locals.map((local) => shareOf(n, local, total)).reduce((a, b) => a + b, 0);
        expect(shared).toBeGreaterThanOrEqual(n);
        expect(shared).toBeLessThan(n + locals.length);
      }),
    );
  });

  it('of errors is used up by that many failures, and never without one', () => {
    expect([0, 1, 2, 3].map((failed) => isSpent(2, failed, 100))).toEqual([false, false, true, true]);
    expect([0, 1].map((failed) => isSpent(0, failed, 100))).toEqual([false, true]);
    expect([0, 1].map((failed) => isSpent('10%', failed, 6))).toEqual([false, true]);
  });
});
