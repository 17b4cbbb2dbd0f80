import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { aggregatedStatus } from '../../../../core/summary/aggregated-status.ts';
import { type DestinationState, destinationPartial } from '../../../../core/summary/destination-status.ts';
import { mergeStatusPartials, type StatusPartial } from '../../../../core/summary/status-partial.ts';
import { statusRules } from '../../../../core/summary/status-rules.ts';

const at = (path: string, more: Partial<DestinationState>): DestinationState => ({
  path,
  standing: 'available',
  reason: '',
  message: '',
  isCurrent: true,
  generation: 3,
  accepted: 3,
  ...more,
});

function shown(kind: string, object: KubeObject, states: readonly DestinationState[]) {
  const rules = statusRules[kind]!;
  const partial = states
    .map((state) => destinationPartial(rules, state))
    .reduce((a: StatusPartial, b) => mergeStatusPartials(rules, a, b));
  return aggregatedStatus({ rules, object, partial, isRolledBack: false }) as Record<string, unknown> & {
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
}

describe('the status of a StatefulSet', () => {
  const object = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 's', generation: 3 },
    spec: { replicas: 2, updateStrategy: { type: 'RollingUpdate' } },
  };
  const counts = { replicas: 2, updatedReplicas: 2, currentReplicas: 2, readyReplicas: 2, availableReplicas: 2 };

  it('has no field of another kind while the revisions of the destinations differ and one is not available', () => {
    const status = shown('statefulsets.apps', object, [
      at('a', { status: { ...counts, updateRevision: 's-1', currentRevision: 's-1', observedGeneration: 3 } }),
      at('b', {
        standing: 'waiting',
        status: { ...counts, readyReplicas: 0, availableReplicas: 0, updateRevision: 's-2', observedGeneration: 3 },
      }),
    ]);
    expect(status).toMatchObject({ replicas: 2, readyReplicas: 0 });
    expect(Object.keys(status)).not.toContain('unavailableReplicas');
    expect(Object.keys(status)).not.toContain('currentRevision');
  });
});

describe('the status of a Job whose result a destination has missed', () => {
  const object = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j', generation: 1 },
    spec: { completions: 3, ttlSecondsAfterFinished: 0 },
  };
  const missed = (path: string) => at(path, { reason: 'ResultUnknown', message: 'the object is gone' });
  const complete = at('a', {
    status: {
      succeeded: 3,
      startTime: '2030-01-01T00:00:00Z',
      completionTime: '2030-01-01T00:01:00Z',
      conditions: [{ type: 'Complete', status: 'True', reason: 'CompletionsReached', message: '' }],
    },
  });
  const completeIn = (status: ReturnType<typeof shown>) => status.conditions?.find(({ type }) => type === 'Complete');

  it('is complete, with the numbers of the destinations that know them', () => {
    const status = shown('jobs.batch', object, [complete, missed('b')]);
    expect(status).toMatchObject({ succeeded: 3, completionTime: '2030-01-01T00:01:00Z' });
    expect(completeIn(status)).toMatchObject({ status: 'True' });
    expect(status.conditions?.map(({ type }) => type)).toEqual(['Complete']);
  });

  it('is complete if no destination knows the result, and says so', () => {
    for (const states of [[missed('a'), missed('b')], [missed('a')]]) {
      const status = shown('jobs.batch', object, states);
      expect(status.succeeded).toBe(3);
      expect(completeIn(status)).toMatchObject({ reason: 'ResultUnknown', message: expect.stringContaining('gone') });
    }
  });

  it('is not complete while another destination runs the Job, and failed if it has failed there', () => {
    const running = at('c', { status: { active: 1, startTime: '2030-01-01T00:00:00Z' } });
    expect(completeIn(shown('jobs.batch', object, [missed('a'), running]))).toBeUndefined();
    const failed = at('c', {
      standing: 'failed',
      status: { failed: 1, conditions: [{ type: 'Failed', status: 'True', reason: 'X', message: 'no' }] },
    });
    const status = shown('jobs.batch', object, [missed('a'), failed]);
    expect(status.conditions?.some(({ type, status: is }) => type === 'Failed' && is === 'True')).toBe(true);
    expect(completeIn(status)).toBeUndefined();
  });
});
