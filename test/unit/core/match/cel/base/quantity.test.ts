import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuantity } from '../../../../../../core/match/cel/base/quantity.ts';

describe('a quantity', () => {
  it.each([
    ['1', 1_000_000_000n],
    ['100m', 100_000_000n],
    ['1.5Gi', 1_610_612_736_000_000_000n],
    ['2e3', 2_000_000_000_000n],
    ['-1k', -1_000_000_000_000n],
    ['.5', 500_000_000n],
    ['1n', 1n],
    ['0.1n', 1n],
    ['+2', 2_000_000_000n],
  ])('%s is %s billionths', (text, nanos) => {
    expect(parseQuantity(text)?.nanos).toBe(nanos);
  });

  it.each(['', '.', 'Gi', '1 Gi', '1gi', '1e', '--1', '1.2.3', 'x'])('%j is invalid', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });

  it('of a whole number and a suffix is that many times the suffix alone', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1_000_000 }),
        fc.constantFrom('m', 'k', 'M', 'Gi', 'Ti', ''),
        (count, suffix) => {
          expect(parseQuantity(`${count}${suffix}`)?.nanos).toBe(BigInt(count) * parseQuantity(`1${suffix}`)!.nanos);
        },
      ),
    );
  });
});
