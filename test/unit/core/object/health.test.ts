import { describe, expect, it } from 'vitest';
import { health } from '../../../../core/object/health.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const object = (kind: string, spec: object, status?: object, generation = 1): KubeObject => {
  const apiVersion = { Deployment: 'apps/v1', ReplicaSet: 'apps/v1', StatefulSet: 'apps/v1', DaemonSet: 'apps/v1' }[
    kind
  ];
  return {
    apiVersion: apiVersion ?? 'v1',
    kind,
    metadata: { name: 'x', namespace: 'shop', generation },
    spec,
    ...(status ? { status } : {}),
  };
};
const as = (apiVersion: string, of: KubeObject): KubeObject => ({ ...of, apiVersion });
const condition = (type: string, status: string, reason = '', message = '') => ({ type, status, reason, message });
const states = (of: KubeObject) => {
  const { state, reason } = health(of);
  return state === 'Current' ? state : `${state} ${reason}`;
};

describe('health of a Deployment', () => {
  const done = {
    observedGeneration: 2,
    replicas: 3,
    updatedReplicas: 3,
    availableReplicas: 3,
    readyReplicas: 3,
    conditions: [condition('Available', 'True'), condition('Progressing', 'True', 'NewReplicaSetAvailable')],
  };
  const with3 = (status?: object) => object('Deployment', { replicas: 3 }, status, 2);

  it('is Current only when all replicas are updated and available and no old one remains', () => {
    expect(states(with3(done))).toBe('Current');
    expect(states(with3({ ...done, replicas: 2 }))).toBe('InProgress LessReplicas');
    expect(states(with3({ ...done, updatedReplicas: 1 }))).toBe('InProgress LessUpdated');
    expect(states(with3({ ...done, replicas: 4 }))).toBe('InProgress ExtraPods');
    expect(states(with3({ ...done, availableReplicas: 2 }))).toBe('InProgress LessAvailable');
    expect(states(with3({ ...done, readyReplicas: 2 }))).toBe('InProgress LessReady');
  });

  it('says why its pods are not created, also after it has waited for too long', () => {
    const refused = condition('ReplicaFailure', 'True', 'FailedCreate', 'exceeded quota: shop');
    const late = condition('Progressing', 'False', 'ProgressDeadlineExceeded', 'it has timed out progressing');
    const none = { ...done, replicas: 0, updatedReplicas: 0, availableReplicas: 0, readyReplicas: 0 };
    expect(health(with3({ ...none, conditions: [refused] }))).toEqual({
      state: 'InProgress',
      reason: 'ReplicaFailure',
      message: 'exceeded quota: shop',
    });
    expect(health(with3({ ...none, conditions: [refused, late] }))).toEqual({
      state: 'Failed',
      reason: 'ProgressDeadlineExceeded',
      message: 'it has timed out progressing: exceeded quota: shop',
    });
    expect(states(with3({ ...done, conditions: [refused] }))).toBe('Current');
    const over = { ...refused, status: 'False' };
    expect(states(with3({ ...none, conditions: [over] }))).toBe('InProgress LessReplicas');
  });

  it('is in progress while its controller has not observed the newest generation, whatever the old status says', () => {
    expect(states(with3({ ...done, observedGeneration: 1 }))).toBe('InProgress LatestGenerationNotObserved');
    expect(states(with3())).toBe('InProgress NoStatus');
  });

  it('is in progress until its newest ReplicaSet is available and its minimum is met', () => {
    const updating = [condition('Progressing', 'True', 'ReplicaSetUpdated')];
    expect(states(with3({ ...done, conditions: updating }))).toBe('InProgress ReplicaSetNotAvailable');
    const unavailable = [condition('Available', 'False', 'MinimumReplicasUnavailable')];
    expect(states(with3({ ...done, conditions: unavailable }))).toBe('InProgress NotAvailable');
  });

  it('has failed when the progress deadline is exceeded', () => {
    const conditions = [condition('Progressing', 'False', 'ProgressDeadlineExceeded', 'timed out')];
    expect(health(with3({ ...done, updatedReplicas: 1, conditions }))).toEqual({
      state: 'Failed',
      reason: 'ProgressDeadlineExceeded',
      message: 'timed out',
    });
  });

  it('expects one replica if the spec has no number', () => {
    const status = {
      ...done,
      observedGeneration: 1,
      replicas: 1,
      updatedReplicas: 1,
      availableReplicas: 1,
      readyReplicas: 1,
    };
    expect(states(object('Deployment', {}, status))).toBe('Current');
  });
});

describe('health of the other workloads', () => {
  it('of a ReplicaSet counts labelled, available and ready replicas', () => {
    const status = {
      observedGeneration: 1,
      replicas: 2,
      fullyLabeledReplicas: 2,
      availableReplicas: 2,
      readyReplicas: 2,
    };
    const two = (change: object) => states(object('ReplicaSet', { replicas: 2 }, { ...status, ...change }));
    expect(two({})).toBe('Current');
    expect(two({ availableReplicas: 1 })).toBe('InProgress LessAvailable');
    expect(two({ fullyLabeledReplicas: 1 })).toBe('InProgress LessLabelled');
    expect(two({ replicas: 3 })).toBe('InProgress ExtraPods');
    expect(two({ conditions: [condition('ReplicaFailure', 'True')] })).toBe('InProgress ReplicaFailure');
    expect(states(object('ReplicaSet', { replicas: 0 }))).toBe('InProgress NoStatus');
  });

  it('of a StatefulSet waits for the update revision, except above a partition and with OnDelete', () => {
    const status = { observedGeneration: 1, replicas: 2, updatedReplicas: 1, readyReplicas: 2 };
    const revisions = { currentRevision: 'a', updateRevision: 'b' };
    const two = (spec: object, change: object) =>
      states(object('StatefulSet', { replicas: 2, ...spec }, { ...status, ...change }));
    expect(two({}, { ...revisions })).toBe('InProgress LessUpdated');
    expect(two({}, { currentRevision: 'b', updateRevision: 'b', updatedReplicas: 2 })).toBe('Current');
    expect(two({ updateStrategy: { type: 'OnDelete' } }, revisions)).toBe('Current');
    expect(two({ updateStrategy: { type: 'OnDelete' } }, { readyReplicas: 1 })).toBe('InProgress LessReady');
    expect(two({ updateStrategy: { rollingUpdate: { partition: 1 } } }, revisions)).toBe('Current');
    expect(two({ updateStrategy: { rollingUpdate: { partition: 1 } } }, { ...revisions, updatedReplicas: 0 })).toBe(
      'InProgress PartitionRollout',
    );
    expect(two({}, { readyReplicas: 1 })).toBe('InProgress LessReady');
    expect(two({}, { replicas: 3 })).toBe('InProgress ExtraPods');
  });

  it('of a DaemonSet counts the nodes that want a pod', () => {
    const status = {
      observedGeneration: 1,
      desiredNumberScheduled: 2,
      currentNumberScheduled: 2,
      updatedNumberScheduled: 2,
      numberAvailable: 2,
      numberReady: 2,
    };
    const two = (change: object) => states(object('DaemonSet', {}, { ...status, ...change }));
    expect(two({})).toBe('Current');
    expect(two({ currentNumberScheduled: 1 })).toBe('InProgress LessScheduled');
    expect(two({ updatedNumberScheduled: 1 })).toBe('InProgress LessUpdated');
    expect(two({ numberAvailable: 1 })).toBe('InProgress LessAvailable');
    expect(two({ desiredNumberScheduled: undefined })).toBe('InProgress NoDesiredNumber');
  });

  it('of a Job is Current once it has started, and Failed when it has failed', () => {
    const job = (status: object) => states(as('batch/v1', object('Job', {}, status)));
    expect(job({})).toBe('InProgress JobNotStarted');
    expect(job({ startTime: 'now', active: 1 })).toBe('Current');
    expect(job({ startTime: 'now', conditions: [condition('Complete', 'True')] })).toBe('Current');
    expect(job({ conditions: [condition('Suspended', 'True')] })).toBe('Current');
    expect(job({ startTime: 'now', conditions: [condition('Failed', 'True', 'BackoffLimitExceeded')] })).toBe(
      'Failed JobFailed',
    );
  });

  it('of a Pod follows its phase and readiness', () => {
    const pod = (status: object) => states(object('Pod', {}, status));
    expect(pod({ phase: 'Running', conditions: [condition('Ready', 'True')] })).toBe('Current');
    expect(pod({ phase: 'Running', conditions: [condition('Ready', 'False')] })).toBe('InProgress PodNotReady');
    expect(pod({ phase: 'Succeeded' })).toBe('Current');
    expect(pod({ phase: 'Failed' })).toBe('Failed PodFailed');
    expect(pod({ phase: 'Pending' })).toBe('InProgress PodPending');
    expect(pod({ phase: 'Pending', conditions: [condition('PodScheduled', 'False', 'Unschedulable')] })).toBe(
      'InProgress PodUnschedulable',
    );
    // kstatus waits this long; the caller, who has a clock, checks again.
    const unscheduled = { phase: 'Pending', conditions: [condition('PodScheduled', 'False', 'Unschedulable')] };
    expect(health(object('Pod', {}, unscheduled)).failsAfterMs).toBe(15_000);
    expect(health(object('Pod', {}, { phase: 'Pending' })).failsAfterMs).toBeUndefined();
    const crashing = { name: 'c', state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } } };
    expect(pod({ phase: 'Running', containerStatuses: [crashing] })).toBe('Failed CrashLoopBackOff');
  });
});

describe('health of other kinds', () => {
  it('of a claim is Current when it is bound', () => {
    expect(states(object('PersistentVolumeClaim', {}, { phase: 'Bound' }))).toBe('Current');
    expect(states(object('PersistentVolumeClaim', {}))).toBe('InProgress NotBound');
  });

  it('of a Service waits for an address only when it is a load balancer', () => {
    expect(states(object('Service', { type: 'ClusterIP' }))).toBe('Current');
    expect(states(object('Service', { type: 'LoadBalancer' }))).toBe('InProgress NoIPAssigned');
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
    expect(states(object('Service', { type: 'LoadBalancer' }, status))).toBe('Current');
  });

  it('of a disruption budget waits for its controller', () => {
    const budget = (status?: object) => states(as('policy/v1', object('PodDisruptionBudget', {}, status)));
    expect(budget()).toBe('InProgress NoStatus');
    expect(budget({ observedGeneration: 1, currentHealthy: 3 })).toBe('Current');
  });

  it('of a CustomResourceDefinition is Current when the kind is established', () => {
    const crd = (...conditions: object[]) =>
      states(as('apiextensions.k8s.io/v1', object('CustomResourceDefinition', {}, { conditions })));
    expect(crd(condition('NamesAccepted', 'True'), condition('Established', 'True'))).toBe('Current');
    expect(crd()).toBe('InProgress Installing');
    expect(crd(condition('Established', 'False', 'Installing'))).toBe('InProgress Installing');
    expect(crd(condition('NamesAccepted', 'False', 'ListKindConflict'))).toBe('Failed ListKindConflict');
  });

  it('of an APIService waits for its server', () => {
    const served = (...conditions: object[]) =>
      states(as('apiregistration.k8s.io/v1', object('APIService', {}, { conditions })));
    expect(served()).toBe('Current');
    expect(served(condition('Available', 'True'))).toBe('Current');
    expect(served(condition('Available', 'False', 'FailedDiscoveryCheck'))).toBe('InProgress FailedDiscoveryCheck');
  });

  it('of anything else reads the usual conditions; without conditions, existence is enough', () => {
    const custom = (status?: object, generation?: number) =>
      states(as('shop.example.com/v1', object('PriceBoard', {}, status, generation)));
    expect(custom()).toBe('Current');
    expect(custom({ conditions: [condition('Ready', 'False', 'Waiting')] })).toBe('InProgress Waiting');
    expect(custom({ conditions: [condition('Ready', 'True')] })).toBe('Current');
    expect(custom({ conditions: [condition('Reconciling', 'True')] })).toBe('InProgress Reconciling');
    expect(custom({ conditions: [condition('Stalled', 'True', 'Broken')] })).toBe('Failed Broken');
    expect(custom({ observedGeneration: 1 }, 2)).toBe('InProgress LatestGenerationNotObserved');
    expect(custom({ observedGeneration: 3 }, 2)).toBe('InProgress LatestGenerationNotObserved');
  });

  it('reads Stalled and Reconciling before the rules of the kind', () => {
    const claim = (...conditions: object[]) =>
      states(object('PersistentVolumeClaim', {}, { phase: 'Bound', conditions }));
    expect(claim(condition('Reconciling', 'True', 'Resizing'))).toBe('InProgress Resizing');
    expect(claim(condition('Stalled', 'True', 'NoSpace'))).toBe('Failed NoSpace');
    expect(claim(condition('Stalled', 'False'), condition('Reconciling', 'False'))).toBe('Current');
  });

  it('is Terminating for any object that is being deleted', () => {
    const of = object('ConfigMap', {});
    of.metadata.deletionTimestamp = '2024-01-01T00:00:00Z';
    expect(states(of)).toBe('Terminating Terminating');
  });
});
