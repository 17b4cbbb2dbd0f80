import { describe, expect, it } from 'vitest';
import { hasEnded, isDeletedAfterEnd } from '../../../../core/object/ended.ts';
import type { KubeObject, ObjectMeta } from '../../../../core/object/meta.ts';

const endedAt = '2024-06-01T12:00:00Z';
const job = (type: string | undefined, metadata: ObjectMeta = {}, status = 'True'): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata,
  spec: {},
  status: type === undefined ? {} : { conditions: [{ type, status, lastTransitionTime: endedAt }] },
});
const pod = (phase: string, restartPolicy: string | undefined, metadata: ObjectMeta = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata,
  spec: { restartPolicy },
  status: { phase, containerStatuses: [{ state: { terminated: { finishedAt: endedAt } } }] },
});

describe('an object has ended', () => {
  it.each([
    ['a complete Job', job('Complete'), true],
    ['a failed Job', job('Failed'), true],
    ['a running Job', job(undefined), false],
    ['a Job that does not fail any more', job('Failed', {}, 'False'), false],
    ['a suspended Job', job('Suspended'), false],
    ['a Pod that succeeded', pod('Succeeded', 'Never'), true],
    ['a Pod that failed', pod('Failed', 'OnFailure'), true],
    ['a Pod that is started again', pod('Failed', 'Always'), false],
    ['a Pod with the default policy', pod('Succeeded', undefined), false],
    ['a running Pod', pod('Running', 'Never'), false],
    ['a Job of another group', { ...job('Complete'), apiVersion: 'example.org/v1' }, false],
    ['another kind', { ...job('Complete'), kind: 'CronJob' }, false],
  ])('%s', (_, object, ended) => {
    expect(hasEnded(object)).toBe(ended);
  });

  it('before its deletion, and not because of its deletion', () => {
    const deleted = (deletionTimestamp: string, deletionGracePeriodSeconds = 0) => ({
      deletionTimestamp,
      deletionGracePeriodSeconds,
    });
    expect(hasEnded(job('Complete', deleted('2024-06-01T12:00:03Z')))).toBe(true);
    expect(hasEnded(job('Complete', deleted('2024-06-01T11:59:59Z')))).toBe(false);
    // Somebody deletes the Pod at 11:59:45: its containers get 30 s, and end after 15 s.
    expect(hasEnded(pod('Failed', 'Never', deleted('2024-06-01T12:00:15Z', 30)))).toBe(false);
    expect(hasEnded(pod('Failed', 'Never', deleted('2024-06-01T12:00:45Z', 30)))).toBe(true);
    const evicted = { ...pod('Failed', 'Never', deleted('2024-06-01T12:00:45Z')), status: { phase: 'Failed' } };
    expect(hasEnded(evicted)).toBe(false);
  });

  it('and goes by itself only if it is a Job with a time to live', () => {
    expect(isDeletedAfterEnd({ ...job(undefined), spec: { ttlSecondsAfterFinished: 0 } })).toBe(true);
    expect(isDeletedAfterEnd(job(undefined))).toBe(false);
    expect(isDeletedAfterEnd({ ...pod('Succeeded', 'Never'), spec: { ttlSecondsAfterFinished: 0 } })).toBe(false);
  });
});
