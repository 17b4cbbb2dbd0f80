import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  nextSizes,
  type ReplicaSetView,
  rollingUpdate,
} from '../../../../../../edge-agent/cluster/embedded/controllers/rolling-update.ts';

describe('the limits of a rolling update', () => {
  it('round surge up and unavailability down, and are never both 0', () => {
    expect(rollingUpdate(10, { maxSurge: '25%', maxUnavailable: '25%' })).toMatchObject({
      maxSurge: 3,
      maxUnavailable: 2,
    });
    expect(rollingUpdate(3)).toMatchObject({ maxSurge: 1, maxUnavailable: 0 });
    expect(rollingUpdate(3, { maxSurge: 0, maxUnavailable: 0 })).toMatchObject({ maxSurge: 0, maxUnavailable: 1 });
    expect(rollingUpdate(1, { maxSurge: 0, maxUnavailable: '10%' })).toMatchObject({ maxUnavailable: 1 });
  });
});

/** Pods of the two newest sizes become ready or not as the generator decides; the sizes follow the step. */
const scenario = fc.record({
  replicas: fc.integer({ min: 0, max: 12 }),
  maxSurge: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom('0%', '25%', '100%')),
  maxUnavailable: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom('0%', '25%', '100%')),
  readiness: fc.array(fc.nat(3), { minLength: 60, maxLength: 60 }),
});

describe('the steps of a rolling update', () => {
  it('never exceed the surge, never remove more than may be unavailable, and end with the new pods alone', () => {
    fc.assert(
      fc.property(scenario, ({ replicas, maxSurge, maxUnavailable, readiness }) => {
        const update = rollingUpdate(replicas, { maxSurge, maxUnavailable });
        let current: ReplicaSetView = { name: 'new', replicas: 0, available: 0 };
        let old: ReplicaSetView = { name: 'old', replicas, available: replicas };
        for (const ready of readiness) {
          const sizes = nextSizes(update, current, [old]);
          const newSize = sizes.get('new') ?? current.replicas;
          const oldSize = sizes.get('old') ?? old.replicas;
          expect(newSize + oldSize).toBeLessThanOrEqual(update.replicas + update.maxSurge);
          current = { name: 'new', replicas: newSize, available: Math.min(newSize, current.available) };
          old = { name: 'old', replicas: oldSize, available: Math.min(oldSize, old.available) };
          expect(current.available + old.available).toBeGreaterThanOrEqual(update.replicas - update.maxUnavailable);
          current = { ...current, available: Math.min(newSize, current.available + ready) };
        }
        for (let step = 0; step < 60; step++) {
          const sizes = nextSizes(update, current, [old]);
          const size = sizes.get('new') ?? current.replicas;
          current = { name: 'new', replicas: size, available: size };
          const oldSize = sizes.get('old') ?? old.replicas;
          old = { name: 'old', replicas: oldSize, available: Math.min(oldSize, old.available) };
        }
        expect([current.replicas, old.replicas]).toEqual([replicas, 0]);
      }),
    );
  });

  it('remove old pods that are not ready first', () => {
    const update = rollingUpdate(3, { maxSurge: 1, maxUnavailable: 0 });
    const sizes = nextSizes(update, { name: 'new', replicas: 1, available: 0 }, [
      { name: 'broken', replicas: 1, available: 0 },
      { name: 'good', replicas: 3, available: 3 },
    ]);
    expect(sizes).toEqual(new Map([['broken', 0]]));
  });
});
