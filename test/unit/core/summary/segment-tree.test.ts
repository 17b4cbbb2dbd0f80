import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SegmentTree } from '../../../../core/summary/segment-tree.ts';

const join = (a: string, b: string) => [...new Set([...a.split(','), ...b.split(',')])].sort().join(',');

describe('SegmentTree', () => {
  it('has no total while it is empty', () => {
    expect(new SegmentTree<number>(Math.max).total()).toBeUndefined();
  });

  it('equals a fold over its slots after any sequence of sets and deletes', () => {
    const step = fc.record({
      key: fc.nat(20),
      value: fc.option(fc.string({ minLength: 1, maxLength: 2, unit: fc.constantFrom('a', 'b', 'c') })),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const tree = new SegmentTree<string>(join);
        const model = new Map<string, string>();
        for (const { key, value } of steps) {
          if (value === null) {
            expect(tree.delete(`k${key}`)).toBe(model.delete(`k${key}`));
          } else {
            tree.set(`k${key}`, value);
            model.set(`k${key}`, value);
          }
          const folded = model.size === 0 ? undefined : [...model.values()].reduce(join);
          expect(tree.total() === undefined ? undefined : join(tree.total()!, tree.total()!)).toBe(
            folded === undefined ? undefined : join(folded, folded),
          );
          expect(tree.size).toBe(model.size);
        }
      }),
    );
  });

  it('merges at most log2(slots) times for one change among a thousand', () => {
    const tree = new SegmentTree<number>((a, b) => a + b);
    for (let i = 0; i < 1000; i++) tree.set(`child-${i}`, 1);
    expect(tree.total()).toBe(1000);
    const before = tree.merges;
    tree.set('child-500', 7);
    expect(tree.total()).toBe(1006);
    expect(tree.merges - before).toBeLessThanOrEqual(10);
  });

  it('merges once per slot when all have changed', () => {
    const tree = new SegmentTree<number>((a, b) => a + b);
    for (let round = 1; round <= 3; round++) {
      const before = tree.merges;
      for (let i = 0; i < 1000; i++) tree.set(`child-${i}`, round);
      expect(tree.total()).toBe(1000 * round);
      expect(tree.merges - before).toBe(999);
    }
  });

  it('returns the total again without a merge', () => {
    const tree = new SegmentTree<number>((a, b) => a + b);
    for (let i = 0; i < 10; i++) tree.set(`child-${i}`, 1);
    tree.total();
    const before = tree.merges;
    expect(tree.total()).toBe(10);
    expect(tree.merges).toBe(before);
  });
});
