import { describe, expect, it } from 'vitest';
import { defaultRules } from '../../../../core/entries/apply-rules.ts';
import { objectState, placementPartial } from '../../../../edge-agent/agent/reported-state.ts';
import type { ApplyProgress } from '../../../../edge-agent/apply/progress.ts';
import type { Delivery } from '../../../../edge-agent/desired/desired.ts';
import type { ObjectObservation } from '../../../../edge-agent/observe/observer.ts';

const delivery: Delivery = {
  source: 'center.retail',
  key: '/configmaps/shop/till',
  revision: 7,
  bodyHash: 'h2',
  placements: ['center.retail/a'],
  createOnly: false,
  named: false,
  uid: 'u',
  former: [],
  generation: 1,
  implied: [],
  claim: undefined,
  deletion: undefined,
  rules: defaultRules,
};
const applied: ApplyProgress = { phase: 'applied', source: 'center.retail', bodyHash: 'h2' };
const seen = (state: 'Current' | 'InProgress' | 'Failed'): ObjectObservation => ({
  uid: 'u',
  generation: 1,
  health: { state, reason: state, message: 'm' },
  status: new Uint8Array(0),
  hasFinalizers: false,
});
const target = { generation: 2, target: 9, priority: 0, created: '', uid: '' };

describe('the state of an object', () => {
  it('is available only if its present content was applied and the cluster reports it as current', () => {
    expect(objectState(delivery, delivery, applied, seen('Current'))).toMatchObject({ desired: 7, available: true });
    const older: ApplyProgress = { ...applied, bodyHash: 'h1' };
    expect(objectState(delivery, delivery, older, seen('Current'))).toMatchObject({ applied: false, available: false });
    expect(objectState(delivery, delivery, undefined, seen('Current'))).toMatchObject({ reason: 'Pending' });
    expect(objectState(delivery, delivery, applied, undefined)).toMatchObject({ applied: true, available: false });
    expect(objectState(delivery, delivery, applied, seen('InProgress'))).toMatchObject({
      available: false,
      failed: false,
    });
    expect(objectState(delivery, delivery, applied, seen('Failed'))).toMatchObject({ available: false, failed: true });
  });

  it('has the cause that the agent has found, is named for it, and does not fail while it only waits', () => {
    const cause = { reason: 'ImagePullBackOff', message: '0/2 pods ready: container app ImagePullBackOff: x' };
    const waiting = objectState(delivery, delivery, applied, seen('InProgress'), cause);
    expect(waiting).toMatchObject({ failed: false, waits: true, ...cause });
    const { counts, failures } = placementPartial('eu:store', target, [['/pods/shop/a', waiting]], true);
    expect(counts).toMatchObject({ available: 0, failed: 0 });
    expect(failures).toEqual([{ path: 'eu:store', object: 'pods shop/a', ...cause }]);
    const overdue = {
      ...seen('Failed'),
      health: { state: 'Failed', reason: 'ProgressDeadlineExceeded', message: 'it has timed out.' },
    } as const;
    expect(objectState(delivery, delivery, applied, overdue, cause)).toMatchObject({
      failed: true,
      reason: 'ImagePullBackOff',
      message: `it has timed out: ${cause.message}`,
    });
  });

  it('names a tolerated change by somebody else, also while the object is not in its desired state', () => {
    const drifted: ApplyProgress & { drift: string } = {
      ...applied,
      phase: 'applied',
      drift: 'spec.replicas is 4 and was applied as 2',
    };
    for (const [state, available] of [
      ['Current', true],
      ['InProgress', false],
    ] as const)
      expect(objectState(delivery, delivery, drifted, seen(state))).toMatchObject({
        applied: true,
        available,
        failed: false,
        reason: 'Drifted',
        message: drifted.drift,
      });
    expect(objectState(delivery, delivery, drifted, seen('Failed'))).toMatchObject({ failed: true, reason: 'Failed' });
  });

  it('is not available because of an object that another source has applied', () => {
    const other: ApplyProgress = { ...applied, source: 'eu.ops' };
    expect(objectState(delivery, delivery, other, seen('Current'))).toMatchObject({ applied: false, available: false });
    const winner = { ...delivery, source: 'center.a' };
    expect(objectState(delivery, winner, applied, seen('Current'))).toMatchObject({
      conflicted: true,
      available: false,
      message: expect.stringContaining('another source delivers the same object and has precedence'),
    });
  });
});

describe('the partial of a placement', () => {
  const state = (more: object) => ({
    desired: 7,
    applied: true,
    available: true,
    waits: false,
    conflicted: false,
    failed: false,
    ...more,
  });
  const counts = (...states: object[]) =>
    placementPartial(
      'eu:store',
      target,
      states.map((more, index) => [`/configmaps/shop/${index}`, state(more)] as const),
      true,
    ).counts;

  it('needs all objects for applied and available, and one object for failed', () => {
    expect(counts({}, {})).toMatchObject({ expected: 1, fresh: 1, synced: 1, applied: 1, available: 1, failed: 0 });
    expect(counts({}, { available: false })).toMatchObject({ applied: 1, available: 0 });
    expect(counts({}, { applied: false, available: false })).toMatchObject({ applied: 0, available: 0 });
    expect(counts({ failed: true, available: false }, {})).toMatchObject({ failed: 1, applied: 1 });
    expect(counts({ conflicted: true, applied: false, available: false }, {})).toMatchObject({
      conflicted: 1,
      failed: 0,
    });
  });

  it('without objects is available, unless an object has still to go', () => {
    expect(placementPartial('eu:store', target, [], true).counts).toMatchObject({ applied: 1, available: 1 });
    expect(placementPartial('eu:store', target, [], false).counts).toMatchObject({ applied: 0, available: 0 });
  });
});
