import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { podCause } from '../../../../core/object/pod-cause.ts';

interface Container {
  readonly name?: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: object;
  readonly lastState?: object;
}

function pod(container: Container | undefined, status: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-5d4f8-x2x7q', namespace: 'shop' },
    spec: { containers: [{ name: 'app', image: 'registry.example.com/web:7' }] },
    status: { phase: 'Running', containerStatuses: container ? [{ name: 'app', ...container }] : [], ...status },
  };
}

const waiting = (reason: string, message?: string): Container => ({
  state: { waiting: { reason, ...(message === undefined ? {} : { message }) } },
});
const ended = (exitCode: number, reason = 'Error') => ({ terminated: { exitCode, reason } });

describe('the cause of a pod', () => {
  it('is absent for a pod that is ready or has completed', () => {
    const ready = pod({ ready: true }, { conditions: [{ type: 'Ready', status: 'True' }] });
    expect(podCause(ready)).toBeUndefined();
    expect(podCause(pod({ state: ended(0, 'Completed') }, { phase: 'Succeeded' }))).toBeUndefined();
  });

  it('is the same in all states between which a crashing container alternates', () => {
    const lastState = ended(137, 'OOMKilled');
    const states: Container[] = [
      { ...waiting('CrashLoopBackOff', 'back-off 10s restarting failed container=app'), restartCount: 3, lastState },
      { ...waiting('CrashLoopBackOff', 'back-off 5m0s restarting failed container=app'), restartCount: 9, lastState },
      { state: lastState, restartCount: 4, lastState },
      { state: { running: {} }, restartCount: 5, ready: false, lastState },
    ];
    for (const state of states) {
      expect(podCause(pod(state))).toEqual({
        reason: 'CrashLoopBackOff',
        message: 'container app CrashLoopBackOff: exit code 137 (OOMKilled)',
        rank: 0,
      });
    }
  });

  it.each([
    ['ErrImagePull', 'failed to resolve reference "x": not found', 'it does not exist'],
    ['ImagePullBackOff', 'Back-off pulling image "x": ErrImagePull: manifest unknown', 'it does not exist'],
    [
      'ErrImagePull',
      'pull access denied, repository does not exist or may require authorization',
      'it does not exist, or the cluster may not pull it',
    ],
    ['ErrImagePull', 'unexpected status: 401 Unauthorized', 'the registry refuses the credentials'],
    ['ErrImagePull', 'dial tcp: lookup registry.example.com: no such host', "the registry can't be reached"],
    ['ErrImagePull', 'x509: certificate signed by unknown authority', 'the certificate of the registry is not trusted'],
    [
      'ErrImagePull',
      'toomanyrequests: You have reached your pull rate limit',
      'the registry limits the number of pulls',
    ],
  ])('names the image that can not be pulled, with the reason in plain words: %s %s', (reason, message, words) => {
    expect(podCause(pod(waiting(reason, message), { phase: 'Pending' }))).toEqual({
      reason: 'ImagePullBackOff',
      message: `container app ImagePullBackOff: the image registry.example.com/web:7 can't be pulled: ${words}`,
      rank: 0,
    });
  });

  it('has no reason for an image if the kubelet gives none', () => {
    const cause = podCause(pod(waiting('ImagePullBackOff', 'Back-off pulling image "x"')));
    expect(cause?.message).toMatch(/can't be pulled$/);
  });

  it('is what the kubelet says about a container that can not be made', () => {
    expect(podCause(pod(waiting('CreateContainerConfigError', 'secret "db" not found')))).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'container app CreateContainerConfigError: secret "db" not found',
      rank: 1,
    });
  });

  it('is what the scheduler says', () => {
    const conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: '0/3 nodes are available: 3 Insufficient cpu.',
      },
    ];
    expect(podCause(pod(undefined, { phase: 'Pending', conditions }))).toEqual({
      reason: 'Unschedulable',
      message: 'no node fits: 0/3 nodes are available: 3 Insufficient cpu.',
      rank: 0,
    });
  });

  it('is the worst of several containers, also of those that run before the others', () => {
    const status = {
      initContainerStatuses: [{ name: 'migrate', ...waiting('CrashLoopBackOff'), lastState: ended(2) }],
      containerStatuses: [{ name: 'app', ...waiting('PodInitializing') }],
    };
    expect(podCause(pod(undefined, status))?.message).toBe('container migrate CrashLoopBackOff: exit code 2');
  });

  it('is weak while only the state is known', () => {
    expect(podCause(pod(waiting('ContainerCreating')))).toMatchObject({ reason: 'ContainerCreating', rank: 2 });
    expect(podCause(pod({ state: { running: {} }, ready: false }))).toMatchObject({ reason: 'NotReady', rank: 2 });
    expect(podCause(pod(undefined, { phase: 'Pending' }))).toMatchObject({ reason: 'PodPending', rank: 2 });
  });

  it('is the eviction of a pod', () => {
    const status = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' };
    expect(podCause(pod(undefined, status))).toMatchObject({
      reason: 'Evicted',
      message: 'Evicted: The node was low on resource: memory.',
    });
  });
});
