import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteBudget } from '../../../../../edge-agent/cluster/kubernetes/byte-budget.ts';

test('the first that waits has half of the budget for itself, and the others continue in order when it has ended', async () => {
  const budget = new ByteBudget(100);
  const [a, b, c] = [budget.hold(), budget.hold(), budget.hold()];
  expect(a.take(50)).toBeUndefined();
  expect(b.take(30)).toBeUndefined();
  const order: string[] = [];
  const waits = [c.take(20)?.then(() => order.push('c')), a.take(1)?.then(() => order.push('a'))];
  await Promise.resolve();
  expect(order).toEqual([]);
  expect(budget.used).toBe(80);
  b.end();
  await Promise.resolve();
  expect(order).toEqual(['c']);
  c.end();
  a.end();
  await Promise.all(waits);
  expect(budget.used).toBe(0);
});

test('whatever is read in whatever pieces, the budget is never exceeded, and every read ends', async () => {
  const answers = fc.array(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 12 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(answers, fc.integer({ min: 40, max: 200 }), fc.scheduler(), async (all, max, scheduler) => {
      const budget = new ByteBudget(max);
      let most = 0;
      const read = async (pieces: readonly number[]) => {
        const held = budget.hold();
        let own = 0;
        for (const piece of pieces) {
          await scheduler.schedule(Promise.resolve());
          own += piece;
          if (own > budget.eachMax) break;
          await held.take(piece);
          most = Math.max(most, budget.used);
        }
        held.end();
      };
      const reading = Promise.all(all.map(read));
      await scheduler.waitFor(reading);
      expect(most).toBeLessThanOrEqual(max);
      expect(budget.used).toBe(0);
    }),
    { numRuns: 300 },
  );
});
