import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { emptyPartial } from '../../../../../core/summary/partial.ts';
import { withDeletion } from '../../../../../relay/gather/status/deletion-status.ts';
import { placementStatus } from '../../../../../relay/gather/status/placement-status.ts';

const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'];

function status(counts: object, now = early) {
  const empty = emptyPartial(2, 7);
  return placementStatus({ ...empty, counts: { ...empty.counts, ...counts } }, [], now);
}

const placement = (deletionTimestamp?: string): KubeObject => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: {
    name: 'p',
    finalizers: ['example.com/database'],
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  },
});
const byType = (counts: object, before: Parameters<typeof withDeletion>[2] = [], now = early) =>
  Object.fromEntries(
    withDeletion(placement(early), status(counts, now), before, now).conditions.map((one) => [one.type, one]),
  );

describe('the status of a deleted placement', () => {
  it('is the ordinary one while the placement was not deleted', () => {
    const ordinary = status({ expected: 2, applied: 2, available: 2 });
    expect(withDeletion(placement(), ordinary, [], early)).toBe(ordinary);
  });

  it('is never Ready, and names the finalizers', () => {
    expect(byType({ expected: 2, applied: 2, available: 2 }).Ready).toMatchObject({
      status: 'False',
      reason: 'Terminating',
      message: expect.stringContaining('example.com/database'),
      observedGeneration: 2,
    });
  });

  it.each([
    [{ expected: 2, applied: 2 }, 'True', 'all 2 destinations have removed'],
    [{ expected: 0 }, 'True', 'all 0 destinations'],
    [{ expected: 3, applied: 1 }, 'False', '1 of 3 destinations have removed'],
    [{ expected: 3, applied: 2, stale: 1 }, 'False', '1 are not connected'],
  ])('is Withdrawn by the destinations that have removed everything: %o', (counts, expected, message) => {
    expect(byType(counts).Withdrawn).toMatchObject({ status: expected, message: expect.stringContaining(message) });
  });

  it('changes the time of a condition only with its value', () => {
    const first = byType({ expected: 2, applied: 1 });
    const second = byType({ expected: 2, applied: 1 }, Object.values(first), late);
    expect([second.Ready?.lastTransitionTime, second.Withdrawn?.lastTransitionTime]).toEqual([early, early]);
    const third = byType({ expected: 2, applied: 2 }, Object.values(second), late);
    expect([third.Ready?.lastTransitionTime, third.Withdrawn?.lastTransitionTime]).toEqual([early, late]);
  });
});
