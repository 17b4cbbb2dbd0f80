import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChildView, contribution } from '../../../../core/summary/contribution.ts';
import { type DestinationCounts, emptyPartial, type Partial } from '../../../../core/summary/partial.ts';

const wanted = { generation: 3, target: 70 };
const failure = { path: 'eu:a', object: 'deployments.apps shop/till', reason: 'CrashLoop', message: 'exit 1' };
const counts = (some: globalThis.Partial<DestinationCounts>): DestinationCounts => ({
  ...emptyPartial(0, 0).counts,
  ...some,
});

function reported(
  some: globalThis.Partial<DestinationCounts>,
  of: { generation?: number; target?: number } = {},
): Partial {
  return { ...emptyPartial(3, 70), ...of, counts: counts(some), failures: [failure] };
}

const connected = (partial?: Partial, expected?: number): ChildView => ({
  path: 'eu',
  connected: true,
  heardAtMs: 90_000,
  expected,
  ...(partial ? { reported: partial } : {}),
});
const silent = (partial: Partial, heardAtMs: number, expected?: number): ChildView => ({
  path: 'eu',
  connected: false,
  heardAtMs,
  expected,
  reported: partial,
});

describe('the contribution of a child to a summary', () => {
  it('is "never" for all expected destinations below it before it has reported, connected or not', () => {
    const none = { ...emptyPartial(3, 70), counts: counts({ expected: 4, never: 4 }) };
    const place = { path: 'eu', destinations: 4 };
    const result = contribution(wanted, connected(undefined, 4));
    expect(result).toEqual({ ...none, away: [{ ...place, reason: 'NotReported' }] });
    const never = { path: 'eu', connected: false, expected: 4 };
    expect(contribution(wanted, never)).toEqual({ ...none, away: [{ ...place, reason: 'NeverConnected' }] });
    const left = contribution(wanted, { ...never, heardAtMs: 7_654 });
    expect(left).toEqual({ ...none, away: [{ ...place, reason: 'Away', sinceMs: 7_000 }] });
  });

  it('is quarantined as a whole while its report is unreadable, and stale if it is silent then', () => {
    const refused = { path: 'eu', expected: undefined, refused: 4, heardAtMs: 9_000 };
    const result = contribution(wanted, { ...refused, connected: true });
    expect(result).toEqual({ ...emptyPartial(3, 70), counts: counts({ expected: 4, quarantined: 4 }) });
    const { counts: away, oldestSinceMs } = contribution(wanted, { ...refused, connected: false });
    expect([away, oldestSinceMs]).toEqual([counts({ expected: 4, stale: 4 }), 9_000]);
  });

  it('is nothing if the child has not reported and the number below it is not known exactly', () => {
    expect(contribution(wanted, connected(undefined, undefined))).toEqual(emptyPartial(3, 70));
  });

  it('is its report, if the report is about the wanted target and the child is connected', () => {
    const own = reported({ expected: 5, fresh: 4, never: 1, available: 3, failed: 1, applied: 4, synced: 4 });
    expect(contribution(wanted, connected(own, 5))).toEqual(own);
  });

  it('is outdated if the report is about an older target: fresh, without its state', () => {
    const own = reported({ expected: 5, fresh: 4, stale: 1, available: 4, failed: 1, synced: 4 }, { target: 60 });
    const { counts: result, failures, target } = contribution(wanted, connected(own, 5));
    expect(result).toEqual(counts({ expected: 5, fresh: 4, stale: 1, outdated: 4 }));
    expect([failures, target]).toEqual([[], 70]);
  });

  it('is stale if the child is not connected: fresh destinations are stale, and neither available nor failed', () => {
    const own = reported({ expected: 6, fresh: 3, stale: 1, never: 1, quarantined: 1, available: 3, failed: 1 });
    const { counts: result, failures, oldestSinceMs, away } = contribution(wanted, silent(own, 5_432, 6));
    expect(result).toEqual(counts({ expected: 6, stale: 4, never: 1, quarantined: 1 }));
    expect([failures, oldestSinceMs]).toEqual([[], 5_000]);
    expect(away).toEqual([{ path: 'eu', destinations: 4, reason: 'Away', sinceMs: 5_000 }]);
  });

  it('is away since the first destination below it was last heard, or since the child itself', () => {
    const own = { ...reported({ expected: 2, fresh: 1, stale: 1 }), oldestSinceMs: 1_000 };
    expect(contribution(wanted, connected(own, 2)).oldestSinceMs).toBe(1_000);
    expect(contribution(wanted, silent(own, 5_000, 2)).oldestSinceMs).toBe(1_000);
    const { oldestSinceMs: _oldest, ...fresh } = own;
    expect(contribution(wanted, silent(fresh, 5_000, 2)).oldestSinceMs).toBe(5_000);
  });

  it('names the places that the child names, and only the child itself while the child is away', () => {
    const below = [
      { path: 'eu:a', destinations: 1, reason: 'Away', sinceMs: 1_000 },
      { path: 'eu:b', destinations: 1, reason: 'NeverConnected' },
    ] as const;
    const own = { ...reported({ expected: 3, fresh: 1, stale: 1, never: 1 }), away: below };
    expect(contribution(wanted, connected(own, 3)).away).toEqual(below);
    const relay = { path: 'eu', destinations: 2, reason: 'Away', sinceMs: 5_000 };
    expect(contribution(wanted, silent(own, 5_000, 3)).away).toEqual([relay, below[1]]);
    const older = { ...own, target: 60 };
    expect(contribution(wanted, connected(older, 3)).away).toEqual(below);
    const ofAnotherSelection = { ...own, generation: 2 };
    expect(contribution(wanted, connected(ofAnotherSelection, 3)).away).toEqual([]);
  });

  describe('of an agent with objects that could not be made for it', () => {
    const heldBack = [
      { path: 'eu:a', object: 'configmaps shop/a', reason: 'CustomizationFailed', message: 'no such key' },
    ];
    const own = reported({ expected: 1, fresh: 1, synced: 1, applied: 1, available: 1 });

    it('is failed, whatever the agent reports of the others, with both samples of failures', () => {
      const { counts: result, failures } = contribution(wanted, { ...connected(own, 1), heldBack });
      expect(result).toEqual(counts({ expected: 1, fresh: 1, failed: 1 }));
      expect(failures).toEqual([...heldBack, failure]);
    });

    it('is stale while it is not connected', () => {
      const { counts: result, failures } = contribution(wanted, { ...silent(own, 5, 1), heldBack });
      expect([result, failures]).toEqual([counts({ expected: 1, stale: 1 }), []]);
    });

    it('is outdated while the agent has reported about an older target only', () => {
      const older = reported({ expected: 1, fresh: 1, available: 1 }, { target: 60 });
      const { counts: result, failures } = contribution(wanted, { ...connected(older, 1), heldBack });
      expect([result, failures]).toEqual([counts({ expected: 1, fresh: 1, outdated: 1 }), heldBack]);
    });
  });

  it('counts destinations by the node’s own knowledge if the child reported about another selection', () => {
    const own = reported({ expected: 5, fresh: 5, available: 5 }, { generation: 2, target: 60 });
    expect(contribution(wanted, connected(own, 8)).counts).toEqual(
      counts({ expected: 8, fresh: 5, never: 3, outdated: 5 }),
    );
    expect(contribution(wanted, connected(own, 2)).counts).toEqual(counts({ expected: 2, fresh: 2, outdated: 2 }));
    expect(contribution(wanted, connected(own, undefined)).counts).toEqual(
      counts({ expected: 5, fresh: 5, outdated: 5 }),
    );
  });

  it('puts every expected destination into exactly one of fresh, stale, never and quarantined', () => {
    const some = fc.nat(20);
    const own = fc
      .record({ fresh: some, stale: some, never: some, quarantined: some, available: some, failed: some })
      .map((parts) => {
        const expected = parts.fresh + parts.stale + parts.never + parts.quarantined;
        return counts({ ...parts, expected, available: Math.min(parts.available, parts.fresh) });
      });
    const view = fc.record({
      own: fc.option(own, { nil: undefined }),
      generation: fc.constantFrom(2, 3),
      target: fc.constantFrom(60, 70),
      isConnected: fc.boolean(),
      expected: fc.option(some, { nil: undefined }),
    });
    fc.assert(
      fc.property(view, ({ own: parts, generation, target, isConnected, expected }) => {
        const partial = parts && reported(parts, { generation, target });
        const child = {
          path: 'eu',
          connected: isConnected,
          heardAtMs: 1,
          expected,
          ...(partial ? { reported: partial } : {}),
        };
        const result = contribution(wanted, child);
        const { fresh, stale, never, quarantined } = result.counts;
        expect(fresh + stale + never + quarantined).toBe(result.counts.expected);
        expect([result.generation, result.target]).toEqual([3, 70]);
        const isCurrent = partial?.generation === 3 && partial.target === 70;
        if (!isConnected || !isCurrent) {
          expect([result.counts.available, result.counts.failed, result.failures.length]).toEqual([0, 0, 0]);
        }
        if (!isConnected) expect(fresh).toBe(0);
        if (!isConnected && stale + never > 0) expect(result.away.length).toBeGreaterThan(0);
        if (stale > 0 && !isConnected) expect(result.away[0]).toMatchObject({ path: 'eu', destinations: stale });
      }),
    );
  });
});
