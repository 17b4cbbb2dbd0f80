import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AwayPlace } from '../../../../core/summary/away.ts';
import {
  adoptedReason,
  countNames,
  decodePartial,
  emptyPartial,
  encodePartial,
  failuresMax,
  mergePartials,
  type Partial,
  smallestFailures,
} from '../../../../core/summary/partial.ts';

const count = fc.nat(1000);
const counts = fc.record({
  expected: count,
  fresh: count,
  stale: count,
  never: count,
  quarantined: count,
  synced: count,
  applied: count,
  available: count,
  failed: count,
  conflicted: count,
  outdated: count,
});
const name = fc.constantFrom('a', 'b', 'c', 'eu:paris', 'eu:berlin', 'ä');
const failure = fc.record({ path: name, object: name, reason: name, message: name });
const place: fc.Arbitrary<AwayPlace> = fc
  .record({
    path: name,
    destinations: fc.integer({ min: 1, max: 9 }),
    reason: fc.constantFrom('Away', 'NeverConnected', 'NotReported'),
    sinceMs: fc.option(fc.nat(9), { nil: undefined }),
  })
  .map(({ sinceMs, ...rest }) => (sinceMs === undefined ? rest : { ...rest, sinceMs }));
const partial: fc.Arbitrary<Partial> = fc
  .record({
    generation: fc.nat(9),
    target: fc.nat(9),
    counts,
    failures: fc.array(failure, { maxLength: 14 }),
    away: fc.array(place, { maxLength: 14 }),
    oldestSinceMs: fc.option(fc.nat(100_000), { nil: undefined }),
  })
  .map(({ oldestSinceMs, ...rest }) => {
    // Each existing partial has the smallest of its failures; a merge with the empty partial ensures this here.
    const raw: Partial = oldestSinceMs === undefined ? rest : { ...rest, oldestSinceMs };
    return mergePartials(raw, emptyPartial(0, 0));
  });

describe('the partial of the built-in summary', () => {
  it('merges associatively', () => {
    fc.assert(
      fc.property(partial, partial, partial, (a, b, c) => {
        expect(mergePartials(mergePartials(a, b), c)).toEqual(mergePartials(a, mergePartials(b, c)));
      }),
    );
  });

  it('merges commutatively', () => {
    fc.assert(
      fc.property(partial, partial, (a, b) => {
        expect(mergePartials(a, b)).toEqual(mergePartials(b, a));
      }),
    );
  });

  it('is unchanged by merging with the empty partial', () => {
    fc.assert(
      fc.property(partial, (a) => {
        expect(mergePartials(a, emptyPartial(a.generation, a.target))).toEqual(a);
      }),
    );
  });

  it('adds every count', () => {
    fc.assert(
      fc.property(partial, partial, (a, b) => {
        for (const name of countNames) expect(mergePartials(a, b).counts[name]).toBe(a.counts[name] + b.counts[name]);
      }),
    );
  });

  it('has notes about adopted objects only where failures leave room', () => {
    const one = (path: string, reason: string) => ({ path, object: 'configmaps shop/till', reason, message: 'm' });
    const notes = Array.from('abcdefghij', (path) => one(path, adoptedReason));
    const merged = smallestFailures(notes, [one('y', 'NotOwned'), one('z', 'Forbidden')]);
    expect(merged).toHaveLength(failuresMax);
    expect(merged.slice(0, 3).map(({ path }) => path)).toEqual(['y', 'z', 'a']);
  });

  it('keeps the smallest failures by path up to its bound', () => {
    const many = (paths: string[]): Partial => ({
      ...emptyPartial(1, 1),
      failures: paths.map((path) => ({ path, object: 'Deployment shop/till', reason: 'r', message: 'm' })),
    });
    const merged = mergePartials(many(['c', 'd', 'e', 'f', 'g', 'h']), many(['a', 'b', 'i', 'j', 'k', 'l']));
    expect(merged.failures.map((f) => f.path).join('')).toBe('abcdefghij');
    expect(merged.failures).toHaveLength(failuresMax);
  });

  it('has the time since which the first destination is away', () => {
    const away = (oldestSinceMs: number): Partial => ({ ...emptyPartial(1, 1), oldestSinceMs });
    expect(mergePartials(away(5), away(70)).oldestSinceMs).toBe(5);
    expect(mergePartials(away(0), emptyPartial(1, 1)).oldestSinceMs).toBe(0);
    expect(mergePartials(emptyPartial(1, 1), emptyPartial(1, 1))).not.toHaveProperty('oldestSinceMs');
  });

  it('names the places that are away for the longest time, then those without a time', () => {
    const places = Array.from({ length: 12 }, (_, i) => ({
      ...emptyPartial(1, 1),
      away: [
        i % 3 === 0
          ? { path: `p${i}`, destinations: 1, reason: 'NeverConnected' as const }
          : { path: `p${i}`, destinations: 1, reason: 'Away' as const, sinceMs: 100 - i },
      ],
    }));
    const { away } = places.reduce<Partial>(mergePartials, emptyPartial(1, 1));
    expect(away.map(({ path }) => path)).toEqual(['p11', 'p10', 'p8', 'p7', 'p5', 'p4', 'p2', 'p1', 'p0', 'p3']);
  });

  it('is restored from its bytes, and equal partials have equal bytes', () => {
    fc.assert(
      fc.property(partial, (a) => {
        expect(decodePartial(encodePartial(a))).toEqual(a);
        expect(encodePartial(mergePartials(a, emptyPartial(0, 0)))).toEqual(encodePartial(a));
      }),
    );
  });

  it('reads a count that the sender does not know as 0', () => {
    const bytes = Buffer.from('{"counts":{"expected":3},"failures":[],"generation":1,"target":2}');
    expect(decodePartial(bytes).counts).toMatchObject({ expected: 3, conflicted: 0 });
  });
});
