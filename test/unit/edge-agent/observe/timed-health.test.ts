import { describe, expect, it } from 'vitest';
import { timestamp } from '../../../../core/object/conditions.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { TimedHealth } from '../../../../edge-agent/observe/timed-health.ts';

const key = '/pods/shop/web';

function bench() {
  const clock = new VirtualClock();
  const log: string[] = [];
  const timed = new TimedHealth(clock, (failed) => log.push(failed));
  const pod = (status: object, uid = 'u', bornAgoMs = 0): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'shop', uid, creationTimestamp: timestamp(clock.wallMs() - bornAgoMs) },
    status,
  });
  const state = (object: KubeObject) => timed.of(key, object).state;
  return { clock, log, timed, pod, state };
}

const unscheduled = (message = 'no node') => ({
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
});
const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

describe('health with time', () => {
  it('lets a pod be without a node for 15 s, and counts it as failed then, without another event', () => {
    const { clock, log, timed, pod, state } = bench();
    const web = pod(unscheduled());
    expect(state(web)).toBe('InProgress');
    clock.advance(14_999);
    expect([state(pod(unscheduled('still none'))), log]).toEqual(['InProgress', []]);
    clock.advance(1);
    expect(log).toEqual([key]);
    expect(timed.of(key, web)).toEqual({ state: 'Failed', reason: 'PodUnschedulable', message: 'no node' });
    clock.advance(60_000);
    expect(log).toEqual([key]);
  });

  it('clears a pod once it has a node', () => {
    const { clock, log, pod, state } = bench();
    const scheduled = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }] };
    state(pod(unscheduled()));
    clock.advance(20_000);
    expect(state(pod(unscheduled()))).toBe('Failed');
    expect(state(pod(scheduled))).toBe('InProgress');
    expect(state(pod(ready))).toBe('Current');
    expect(log).toEqual([key]);
  });

  it('reads no pod again that has got its node in time, or is gone', () => {
    const { clock, log, timed, pod, state } = bench();
    state(pod(unscheduled()));
    state(pod(ready));
    state(pod(unscheduled(), 'v'));
    timed.forget(key);
    state(pod(unscheduled(), 'w'));
    timed.stop();
    clock.advance(60_000);
    expect(log).toEqual([]);
  });

  it('counts from the creation of the pod, and gives another pod of its name a time of its own', () => {
    const { clock, log, pod, state } = bench();
    expect(state(pod(unscheduled(), 'u', 3_600_000))).toBe('Failed');
    expect(state(pod(unscheduled(), 'v', 5_000))).toBe('InProgress');
    clock.advance(10_000);
    expect(log).toEqual([key]);
  });

  it('waits no longer than the window if the clock of the cluster is ahead', () => {
    const { clock, log, pod, state } = bench();
    expect(state(pod(unscheduled(), 'u', -3_600_000))).toBe('InProgress');
    clock.advance(15_000);
    expect(log).toEqual([key]);
    expect(state(pod(unscheduled('still none'), 'u', -3_600_000))).toBe('Failed');
  });
});
