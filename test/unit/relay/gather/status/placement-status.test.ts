import { describe, expect, it } from 'vitest';
import { timestamp } from '../../../../../core/object/conditions.ts';
import type { Condition } from '../../../../../core/object/meta.ts';
import { type DestinationCounts, emptyPartial, type Partial } from '../../../../../core/summary/partial.ts';
import { display, placementStatus, shortDuration } from '../../../../../relay/gather/status/placement-status.ts';

const counts = (some: globalThis.Partial<DestinationCounts>): DestinationCounts => ({
  ...emptyPartial(0, 0).counts,
  ...some,
});
const partial = (some: globalThis.Partial<DestinationCounts>): Partial => ({
  ...emptyPartial(4, 70),
  counts: counts(some),
});
const now = '2026-01-02T03:04:05Z';
const ready = (some: globalThis.Partial<DestinationCounts>) => placementStatus(partial(some), [], now).conditions[0]!;

describe('the summary line of a placement', () => {
  it('shows available and expected destinations', () => {
    expect(display(counts({ expected: 3, fresh: 3, available: 2 }))).toBe('available 2/3');
  });

  it('shows how many are stale, and for how long the oldest', () => {
    const some = counts({ expected: 10_000, fresh: 9_998, available: 9_998, stale: 2 });
    expect(display(some, 240_000)).toBe('available 9,998/10,000 (2 stale, oldest 4m)');
  });

  it('shows only the existing problems, the worst first', () => {
    const some = counts({ expected: 9, failed: 1, conflicted: 2, outdated: 3, never: 1, quarantined: 1, stale: 1 });
    expect(display(some)).toBe('available 0/9 (1 failed, 2 conflicted, 3 outdated, 1 never, 1 quarantined, 1 stale)');
  });

  it('shows no age if none is stale', () => {
    expect(display(counts({ expected: 1, fresh: 1, available: 1 }), 240_000)).toBe('available 1/1');
  });

  it.each([
    [0, '0s'],
    [59_400, '59s'],
    [59_600, '1m'],
    [3_599_000, '59m'],
    [3_600_000, '1h'],
    [86_399_000, '23h'],
    [86_400_000, '1d'],
    [10 * 86_400_000, '10d'],
  ])('writes %i ms as %s', (ms, text) => {
    expect(shortDuration(ms)).toBe(text);
  });
});

describe('the condition Conflicted of a placement', () => {
  const conflicted = (of: Partial) => placementStatus(of, [], now).conditions.find(({ type }) => type === 'Conflicted');

  it('is false if no destination has a conflict', () => {
    expect(conflicted(partial({ expected: 2, fresh: 2, available: 2 }))).toMatchObject({
      status: 'False',
      reason: 'NoConflict',
    });
  });

  it('shows how many destinations have one, and the winner at one of them', () => {
    const failures = [
      { path: 'eu:a', object: 'configmaps shop/b', reason: 'Invalid', message: 'too odd' },
      { path: 'eu:b', object: 'configmaps shop/a', reason: 'Conflicted', message: 'EdgePlacement x of center.ops' },
    ];
    const { status, message } = conflicted({ ...partial({ expected: 5, fresh: 5, conflicted: 2 }), failures })!;
    expect(status).toBe('True');
    expect(message).toBe(
      '2 of 5 destinations have objects of another source; configmaps shop/a at eu:b: EdgePlacement x of center.ops',
    );
  });
});

describe('the condition Ready of a placement', () => {
  it('is true if all expected destinations are available', () => {
    expect(ready({ expected: 2, fresh: 2, available: 2 })).toMatchObject({
      type: 'Ready',
      status: 'True',
      reason: 'AllAvailable',
      observedGeneration: 4,
      lastTransitionTime: now,
    });
  });

  it('is false without a matching Location', () => {
    expect(ready({})).toMatchObject({ status: 'False', reason: 'NoMatchingLocations' });
  });

  it('is false for the first of these reasons that applies', () => {
    const reasons: [keyof DestinationCounts, string][] = [
      ['failed', 'Failing'],
      ['conflicted', 'Conflicted'],
      ['quarantined', 'Quarantined'],
      ['stale', 'Stale'],
      ['never', 'NeverReported'],
    ];
    const all: Record<string, number> = { expected: 9, fresh: 1, available: 1 };
    for (const [name] of reasons) all[name] = 1;
    for (const [name, reason] of reasons) {
      expect(ready(all)).toMatchObject({ status: 'False', reason });
      all[name] = 0;
    }
    expect(ready(all)).toMatchObject({
      status: 'False',
      reason: 'Progressing',
      message: '1 of 9 destinations are available',
    });
  });

  it('keeps its time while it does not change', () => {
    const before = ready({ expected: 2, fresh: 2, available: 1 });
    const readyAfter = (some: globalThis.Partial<DestinationCounts>, conditions: readonly Condition[]) =>
      placementStatus(partial(some), conditions, '2026-01-02T09:00:00Z').conditions[0]!;
    expect(readyAfter({ expected: 2, fresh: 2, available: 0 }, [before]).lastTransitionTime).toBe(now);
    expect(readyAfter({ expected: 2, fresh: 2, available: 2 }, [before]).lastTransitionTime).toBe(
      '2026-01-02T09:00:00Z',
    );
  });
});

describe('the status of a placement', () => {
  it('has the generation that was scheduled, with its counts', () => {
    const status = placementStatus(partial({ expected: 2, fresh: 1, stale: 1, available: 1 }), [], now);
    expect(status).toMatchObject({
      observedGeneration: 4,
      matchingLocationCount: 2,
      summary: { expected: 2, fresh: 1, stale: 1, available: 1, failed: 0 },
      display: 'available 1/2 (1 stale)',
    });
    expect(status).not.toHaveProperty('failures');
    expect(status.summary).not.toHaveProperty('oldestSince');
  });

  it('has the time since which the first place is away, and failures before the places that are away', () => {
    const failures = [{ path: 'eu:a', object: 'deployments.apps shop/till', reason: 'CrashLoop', message: 'exit 1' }];
    const nowMs = Date.parse(now);
    const sinceMs = nowMs - 18 * 60_000;
    const away = [
      { path: 'us', destinations: 1_400, reason: 'Away', sinceMs },
      { path: 'eu:b', destinations: 1, reason: 'Away', sinceMs: nowMs - 30_000 },
      { path: 'eu:c', destinations: 1, reason: 'NeverConnected' },
      { path: 'eu:d', destinations: 1, reason: 'NotReported' },
      { path: 'eu:e', destinations: 1, reason: 'Away' },
    ] as const;
    const input = { ...partial({ expected: 1_405, stale: 1_401, never: 2 }), failures, away, oldestSinceMs: sinceMs };
    const status = placementStatus(input, [], now);
    const since = timestamp(sinceMs);
    expect(status.summary.oldestSince).toBe(since);
    expect(status.display).toContain('oldest 18m');
    const utc = since.slice(0, 16).replace('T', ' ');
    expect(status.failures?.[0]).toEqual(failures[0]);
    expect(status.failures?.[1]).toEqual({
      path: 'us',
      reason: 'Away',
      message: `away since ${utc} UTC (18m), with 1,400 destinations`,
      since,
      destinations: 1_400,
    });
    expect(status.failures?.slice(2).map(({ path, message }) => `${path}: ${message.replace(/20.*UTC/, 'T')}`)).toEqual(
      [
        'eu:b: away since T (30s)',
        'eu:c: has never connected',
        'eu:d: connected, but has not reported about this placement yet',
        'eu:e: not connected',
      ],
    );
  });

  it('names no more than one page of places, the failures first', () => {
    const failures = Array.from({ length: 8 }, (_, i) => ({ path: `f${i}`, object: 'o', reason: 'R', message: 'm' }));
    const away = Array.from({ length: 9 }, (_, i) => ({ path: `a${i}`, destinations: 1, reason: 'Away' as const }));
    const status = placementStatus({ ...partial({ expected: 17 }), failures, away }, [], now);
    expect(status.failures?.map(({ path }) => path).join(' ')).toBe('f0 f1 f2 f3 f4 f5 f6 f7 a0 a1');
  });
});
