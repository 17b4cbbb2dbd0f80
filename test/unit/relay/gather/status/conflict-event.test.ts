import { beforeEach, describe, expect, it } from 'vitest';
import type { Condition, KubeObject } from '../../../../../core/object/meta.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { reportConflict } from '../../../../../relay/gather/status/conflict-event.ts';
import { SpaceBench } from '../../support/space-bench.ts';

const condition = (status: 'True' | 'False', message = 'm'): Condition[] => [
  { type: 'Conflicted', status, reason: 'r', message, lastTransitionTime: 't' },
];
const eventResource = { group: '', resource: 'events' };

describe('the events of a placement about conflicts', () => {
  let bench: SpaceBench;
  let placement: KubeObject;
  const report = (before: Condition[], after: Condition[], wallMs = 0) =>
    reportConflict(bench.space, placement, before, after, wallMs, silentLogger);
  const events = () => bench.space.storage.scan(eventResource).map((stored) => bench.space.parse(stored));

  beforeEach(() => {
    bench = new SpaceBench();
    placement = bench.placement('p', { locationSelectors: [{}] });
  });

  it('are not written while no conflict begins or ends', () => {
    report([], condition('False'));
    report(condition('True'), condition('True', 'another destination'));
    expect(events()).toEqual([]);
  });

  it('name the placement and the winner', () => {
    report([], condition('True', 'EdgePlacement x of center.ops'));
    expect(events()).toMatchObject([
      {
        metadata: { namespace: 'default', ownerReferences: [{ kind: 'EdgePlacement', name: 'p' }] },
        involvedObject: { kind: 'EdgePlacement', name: 'p', uid: placement.metadata.uid },
        type: 'Warning',
        reason: 'Conflicted',
        message: 'EdgePlacement x of center.ops',
        count: 1,
      },
    ]);
  });

  it('are at most two, with a count of repetitions', () => {
    for (let round = 0; round < 3; round++) {
      report(condition('False'), condition('True', `round ${round}`), round * 1000);
      report(condition('True'), condition('False'), round * 1000);
    }
    const reportedEvents = events().sort((a, b) => String(a.reason).localeCompare(String(b.reason)));
    expect(reportedEvents).toMatchObject([
      { reason: 'Conflicted', count: 3, message: 'round 2', lastTimestamp: '1970-01-01T00:00:02Z' },
      { reason: 'ConflictResolved', type: 'Normal', count: 3 },
    ]);
    expect(reportedEvents[0]!.firstTimestamp).toBe('1970-01-01T00:00:00Z');
  });

  it('never leave their space', () => {
    bench.placement('all', {
      locationSelectors: [{}],
      downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['*'] }],
    });
    report([], condition('True'));
    bench.settle();
    expect(Object.keys(bench.refs()).filter((key) => key.includes('events'))).toEqual([]);
  });
});
