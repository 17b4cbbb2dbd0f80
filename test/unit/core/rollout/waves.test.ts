import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WaveCondition } from '../../../../core/rollout/spec.ts';
import { positionOf, smallestPositions, waveOf } from '../../../../core/rollout/waves.ts';

const uids = (n: number) => Array.from({ length: n }, (_, i) => `path-${i}`);
const wave = (conditions: readonly WaveCondition[], path: string, salt = 's') =>
  waveOf(conditions, null, [{}], positionOf(salt, path));

describe('the wave of a destination', () => {
  it('by fraction has about that share of the destinations', () => {
    const first = uids(10_000).filter((path) => wave([{ fraction: 0.1 }], path) === 0);
    // Five standard deviations of 10,000 draws at 10 %.
    expect(Math.abs(first.length - 1_000)).toBeLessThan(150);
  });

  it('by a larger fraction has every destination of a smaller one', () => {
    fc.assert(
      fc.property(fc.string(), fc.uuid(), fc.double({ min: 0, max: 1, noNaN: true }), (salt, path, fraction) => {
        const smaller = wave([{ fraction }], path, salt) === 0;
        const greater = wave([{ fraction: Math.min(1, fraction + 0.1) }], path, salt) === 0;
        expect(greater || !smaller).toBe(true);
      }),
    );
  });

  it('has nobody at fraction 0 and everybody at fraction 1', () => {
    expect(uids(100).map((path) => wave([{ fraction: 0 }, { fraction: 1 }], path))).toEqual(new Array(100).fill(1));
  });

  it('differs with the salt: the first destinations are not always the same', () => {
    const first = (salt: string) => uids(200).filter((path) => wave([{ fraction: 0.1 }], path, salt) === 0);
    expect(first('a')).not.toEqual(first('b'));
  });

  it('is the first whose condition holds, and the rest if none holds', () => {
    const conditions = [{ selector: { matchLabels: { ring: 'canary' } } }, { fraction: 0 }];
    expect(waveOf(conditions, null, [{ ring: 'canary' }], 0.5)).toBe(0);
    expect(waveOf(conditions, null, [{ ring: 'a' }, { ring: 'canary' }], 0.5)).toBe(0);
    expect(waveOf(conditions, null, [{ ring: 'a' }], 0.5)).toBe(2);
  });

  it('by count has exactly that many, found by merging the smallest positions of any parts in any order', () => {
    const count = fc.integer({ min: 1, max: 40 });
    fc.assert(
      fc.property(fc.uniqueArray(fc.uuid(), { minLength: 1 }), count, fc.nat(5), (all, k, parts) => {
        const positions = all.map((path) => positionOf('s', path));
        const groups = Array.from({ length: parts + 1 }, (_, i) => positions.filter((_, at) => at % (parts + 1) === i));
        const smallest = groups.reduceRight((a, b) => smallestPositions(a, b, k), [] as number[]);
        const chosen = positions.filter((position) => waveOf([{ count: k }], smallest, [{}], position) === 0);
        expect(chosen).toHaveLength(Math.min(k, all.length));
      }),
    );
  });

  it('by count has nobody until it is drawn, and nobody who was away then', () => {
    expect(waveOf([{ count: 3 }], null, [{}], 0.1)).toBe(1);
    expect(waveOf([{ count: 3 }], [0.2, 0.4], [{}], 0.1)).toBe(1);
    expect(waveOf([{ count: 3 }], [0.2, 0.4], [{}], 0.3)).toBe(1);
  });

  it('by count takes its number from the start, over several waves', () => {
    const waves = [{ count: 1 }, { count: 3 }];
    expect([0.1, 0.2, 0.3, 0.4].map((position) => waveOf(waves, [0.1, 0.2, 0.3], [{}], position))).toEqual([
      0, 1, 1, 2,
    ]);
  });
});
