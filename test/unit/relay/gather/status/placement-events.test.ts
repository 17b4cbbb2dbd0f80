import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { type DestinationCounts, emptyPartial, type Partial } from '../../../../../core/summary/partial.ts';
import { PlacementEvents, statusEvents } from '../../../../../relay/gather/status/placement-events.ts';
import { type PlacementStatus, placementStatus } from '../../../../../relay/gather/status/placement-status.ts';
import type { RolloutStatus } from '../../../../../relay/rollout/status.ts';
import { SpaceBench } from '../../support/space-bench.ts';

const eventResource = { group: '', resource: 'events' };
const nowText = '2026-01-01T00:00:00Z';
const fine = { expected: 2, fresh: 2, available: 2 };

function status(
  counts: globalThis.Partial<DestinationCounts>,
  more: globalThis.Partial<Partial> = {},
): PlacementStatus {
  const base = emptyPartial(1, 1);
  return placementStatus({ ...base, counts: { ...base.counts, ...counts }, ...more }, [], nowText);
}

const conflict = (message: string) =>
  status({ ...fine, conflicted: 1 }, { failures: [{ path: 'eu:a', object: 'o', reason: 'Conflicted', message }] });
const failing = (message: string) =>
  status(
    { expected: 2, fresh: 2, failed: 1 },
    { failures: [{ path: 'eu:a', object: 'deployments.apps shop/web', reason: 'R', message }] },
  );
const withRollout = (rollout: globalThis.Partial<RolloutStatus>): PlacementStatus => ({
  ...status(fine),
  rollout: { release: 3, phase: 'Progressing', message: 'm', ...rollout },
});

describe('the Events of a change of a status', () => {
  const words = (before: PlacementStatus | object, after: PlacementStatus) =>
    statusEvents(before, after).map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

  it('are none while nothing begins or ends', () => {
    expect(words(status(fine), status(fine))).toEqual([]);
    expect(words(failing('a'), failing('b'))).toEqual([]);
    expect(words(conflict('a'), conflict('b'))).toEqual([]);
    expect(words({}, status({ expected: 2, fresh: 1, never: 1 }))).toEqual([]);
  });

  it('say when the placement is ready, fails, or matches nothing', () => {
    expect(words({}, status(fine))).toEqual(['Normal Ready: all 2 destinations are available']);
    expect(words(status(fine), failing('exit code 1'))).toEqual([
      'Warning Failing: 1 of 2 destinations fail; deployments.apps shop/web at eu:a: exit code 1',
    ]);
    expect(words(failing('a'), status(fine))).toEqual(['Normal Ready: all 2 destinations are available']);
    expect(words(status(fine), status({}))).toEqual([
      'Warning NoMatchingLocations: no Location matches; see spec.locationSelectors',
    ]);
  });

  it('name the winner of a conflict, and the end of the conflict', () => {
    const [event] = words(status(fine), conflict('EdgePlacement x of center.ops wins'));
    expect(event).toMatch(/^Warning Conflicted: .*EdgePlacement x of center.ops wins$/);
    expect(words(conflict('x'), status({ ...fine, available: 1 }))).toEqual([
      'Normal ConflictResolved: no destination holds an object of another source',
    ]);
  });

  it('say each wave of a rollout once, and how the release ends', () => {
    const promoted = withRollout({ release: 2, phase: 'Promoted', message: 'release 2 is promoted' });
    const canary = withRollout({ wave: 'canary' });
    expect(words(promoted, canary)).toEqual(['Normal WaveStarted: release 3: wave canary has begun']);
    expect(words(canary, withRollout({ wave: 'canary', phase: 'Soaking' }))).toEqual([]);
    const half = withRollout({ wave: 'half', phase: 'WaitingForApproval', message: 'waits for a person' });
    expect(words(canary, half)).toEqual([
      'Normal WaveStarted: release 3: wave half has begun',
      'Normal WaitingForApproval: release 3: waits for a person',
    ]);
    expect(words(half, withRollout({ wave: 'half', phase: 'Paused', message: 'gate failed' }))).toEqual([
      'Warning RolloutPaused: release 3: gate failed',
    ]);
    expect(words(half, withRollout({ phase: 'Promoted', message: 'release 3 is promoted' }))).toEqual([
      'Normal ReleasePromoted: release 3 is promoted',
    ]);
    expect(words(half, withRollout({ wave: 'half', phase: 'RolledBack', message: 'rolled back: why' }))).toEqual([
      'Warning RolledBack: rolled back: why',
    ]);
  });

  it('are none for a placement that has never had a release', () => {
    expect(words({}, withRollout({ release: 0, phase: 'Promoted', message: 'nothing to roll out' }))).toEqual([
      'Normal Ready: all 2 destinations are available',
    ]);
  });
});

describe('Events about a placement', () => {
  let bench: SpaceBench;
  let clock: VirtualClock;
  let events: PlacementEvents;
  let placement: KubeObject;
  const report = (before: PlacementStatus | object, after: PlacementStatus) =>
    events.report(bench.space, placement, before, after);
  const written = () => bench.space.storage.scan(eventResource).map((stored) => bench.space.parse(stored));
  const shown = () =>
    written()
      .map(({ reason, count }) => `${reason} ${count}`)
      .sort();

  beforeEach(() => {
    bench = new SpaceBench();
    clock = new VirtualClock(Date.parse(nowText));
    events = new PlacementEvents(clock, silentLogger);
    placement = bench.placement('p', { locationSelectors: [{}] });
  });

  it('name the placement, so that kubectl describe finds them', () => {
    report({}, status(fine));
    expect(written()).toMatchObject([
      {
        metadata: { namespace: 'default', ownerReferences: [{ kind: 'EdgePlacement', name: 'p' }] },
        involvedObject: { kind: 'EdgePlacement', name: 'p', uid: placement.metadata.uid },
        type: 'Normal',
        reason: 'Ready',
        reportingComponent: 'banyan.io/placement',
        eventTime: '2026-01-01T00:00:00.000000Z',
        count: 1,
      },
    ]);
  });

  it('count repetitions, with the newest message and the first time', () => {
    for (let round = 0; round < 3; round++) {
      report(status(fine), conflict(`round ${round}`));
      clock.advance(1_000);
      report(conflict(''), status({ ...fine, available: 1 }));
    }
    expect(shown()).toEqual(['ConflictResolved 3', 'Conflicted 3']);
    const conflicted = written().find(({ reason }) => reason === 'Conflicted')!;
    expect(conflicted).toMatchObject({
      message: expect.stringContaining('round 2'),
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:02Z',
      series: { count: 3, lastObservedTime: '2026-01-01T00:00:02.000000Z' },
    });
  });

  it('are kept for each wave', () => {
    report(withRollout({ wave: 'a' }), withRollout({ wave: 'b' }));
    report(withRollout({ wave: 'b' }), withRollout({ wave: 'c' }));
    expect(shown()).toEqual(['WaveStarted 1', 'WaveStarted 1']);
  });

  it('say that a destination is away only after a minute, once, and when it is back', () => {
    const away = (): PlacementStatus =>
      status(
        { ...fine, available: 1, stale: 1 },
        {
          oldestSinceMs: Date.parse(nowText),
          away: [{ path: 'eu:a', destinations: 1, reason: 'Away', sinceMs: Date.parse(nowText) }],
        },
      );
    report(status({ ...fine, available: 1 }), away());
    expect(shown()).toEqual([]);
    clock.advance(60_000);
    for (let i = 0; i < 3; i++) report(away(), away());
    expect(shown()).toEqual(['Stale 1']);
    expect(written()[0]).toMatchObject({
      type: 'Warning',
      message: '1 of 2 destinations are not connected: eu:a since 2026-01-01T00:00:00Z',
    });
    report(away(), status({ ...fine, available: 1 }));
    expect(shown()).toEqual(['Reconnected 1', 'Stale 1']);
  });

  it('are bounded for a placement that changes all the time, and go on later', () => {
    const flap = () => {
      report(status(fine), failing('x'));
      report(failing('x'), status(fine));
    };
    for (let i = 0; i < 100; i++) flap();
    const total = () => written().reduce((sum, { count }) => sum + Number(count), 0);
    expect(total()).toBe(25);
    clock.advance(10 * 60_000);
    for (let i = 0; i < 100; i++) flap();
    expect(total()).toBe(27);
  });

  it('never leave their space', () => {
    bench.placement('all', {
      locationSelectors: [{}],
      downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['*'] }],
    });
    report({}, status(fine));
    bench.settle();
    expect(Object.keys(bench.refs()).filter((key) => key.includes('events'))).toEqual([]);
  });
});
