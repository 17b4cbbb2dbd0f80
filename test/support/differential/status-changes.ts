/** Statuses of valid objects, right and wrong, that a user writes. */
import type { KubeObject } from '../../../core/object/meta.ts';
import { baseObjects } from './answers.ts';

type Statuses = readonly object[];

/** A valid object of the kind. No controller of a cluster writes the status of this Job. */
export function objectWithStatus(kind: string): KubeObject {
  const object = baseObjects.find((one) => one.kind === kind)!;
  if (kind !== 'Job') return object;
  return { ...object, spec: { ...(object.spec as object), managedBy: 'example.com/other' } };
}

const counts: Statuses = [
  { replicas: 2, readyReplicas: 1, availableReplicas: 1, observedGeneration: 1 },
  { replicas: -1 },
  { replicas: 1, readyReplicas: 2 },
  { replicas: 2, readyReplicas: 1, availableReplicas: 2 },
  { replicas: 1, availableReplicas: 2 },
  { observedGeneration: -1 },
  { replicas: 1, fullyLabeledReplicas: 2, updatedReplicas: 2, unavailableReplicas: -1 },
  { replicas: 2, readyReplicas: 2, currentReplicas: 3, updatedReplicas: 3 },
  { collisionCount: -1 },
];

const addresses: Statuses = [
  { loadBalancer: { ingress: [{ ip: '10.0.0.1' }, { hostname: 'a.example.com' }] } },
  { loadBalancer: { ingress: [{ ip: 'nowhere' }] } },
  { loadBalancer: { ingress: [{ hostname: '10.0.0.1' }] } },
  { loadBalancer: { ingress: [{ hostname: 'A_b' }] } },
  { loadBalancer: { ingress: [{ ip: '10.0.0.1', ipMode: 'Odd' }] } },
  { loadBalancer: { ingress: [{ hostname: 'a', ipMode: 'VIP' }] } },
];

/** By kind: statuses that follow the creation. */
export const statusChanges: Readonly<Record<string, Statuses>> = {
  Deployment: counts,
  ReplicaSet: counts,
  ReplicationController: counts,
  StatefulSet: counts,
  DaemonSet: [
    { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 1, numberReady: 1 },
    { currentNumberScheduled: -1, numberMisscheduled: -1, desiredNumberScheduled: -1, numberReady: -1 },
    { observedGeneration: -1, updatedNumberScheduled: -1, numberAvailable: -1, numberUnavailable: -1 },
    { collisionCount: -1 },
  ],
  HorizontalPodAutoscaler: [
    { currentReplicas: 1, desiredReplicas: 1 },
    { currentReplicas: -1, desiredReplicas: -2 },
  ],
  PodDisruptionBudget: [
    { disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    { disruptionsAllowed: -1, currentHealthy: -1, desiredHealthy: -1, expectedPods: -1 },
    {
      conditions: [
        { type: 'A', status: 'Odd', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'a b', message: '' },
      ],
    },
  ],
  Service: addresses,
  Ingress: addresses,
  PersistentVolumeClaim: [
    { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
    { capacity: { storage: '-1Gi' } },
  ],
  ResourceQuota: [
    { hard: { pods: '1' }, used: { pods: '1' } },
    { hard: { pods: '-1' }, used: { pods: '1500m' } },
    { used: { 'a b': '1' } },
  ],
  Namespace: [{ phase: 'Odd' }, { phase: 'Terminating' }, { conditions: [{ type: '', status: 'Odd' }] }],
  CronJob: [{ active: [{ name: 'a' }] }, { lastScheduleTime: '2026-01-01T00:00:00Z' }],
  Job: [
    { active: 1, ready: 1, succeeded: 0, failed: 0, startTime: '2026-01-01T00:00:00Z' },
    { active: -1, ready: -1, succeeded: -1, failed: -1, terminating: -1 },
    { active: 1, ready: 2 },
    { completionTime: '2026-01-01T00:00:00Z' },
    { uncountedTerminatedPods: { succeeded: ['', 'a', 'a'], failed: ['a'] } },
    { completedIndexes: '1,3-2', failedIndexes: 'x' },
    { completedIndexes: '0-2', failedIndexes: '2,9' },
  ],
  Node: [
    {
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: '10.0.0.1' },
      ],
    },
    { capacity: { cpu: '-1', pods: '1.5' }, allocatable: { memory: '-1Gi' } },
    { conditions: [{ type: 'Ready', status: 'True' }] },
  ],
  Pod: [
    { phase: 'Running', podIPs: [{ ip: '10.0.0.1' }], podIP: '10.0.0.1' },
    { nominatedNodeName: 'A b' },
    { podIPs: [{ ip: 'a' }, { ip: '10.0.0.1' }, { ip: '10.0.0.2' }] },
    { observedGeneration: -1 },
    { conditions: [{ type: 'a b', status: 'True' }] },
  ],
  ValidatingAdmissionPolicy: [
    { observedGeneration: -1 },
    { observedGeneration: 1, typeChecking: { expressionWarnings: [{ fieldRef: 'spec', warning: '' }] } },
  ],
  FlowSchema: [
    {
      conditions: [
        { type: 'A', status: 'True' },
        { type: 'A', status: 'True' },
      ],
    },
    { conditions: [{ type: '', status: 'Odd' }] },
  ],
  PriorityLevelConfiguration: [
    {
      conditions: [
        { type: 'A', status: 'True' },
        { type: 'A', status: 'True' },
      ],
    },
  ],
};

const [start, end] = ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z'];
const conditions = (...types: readonly string[]) => ({ conditions: types.map((type) => ({ type, status: 'True' })) });
const running = { startTime: start, active: 1, ready: 1, succeeded: 2, failed: 1 };
const done = { startTime: start, completionTime: end, succeeded: 4, ...conditions('SuccessCriteriaMet', 'Complete') };

/** By kind: a status, and another one that follows it. */
export const followingStatuses: Readonly<Record<string, readonly (readonly [before: object, after: object])[]>> = {
  Job: [
    [running, { ...running, succeeded: 3, ready: 0 }],
    [running, { ...running, succeeded: 1, failed: 0 }],
    [running, { ...running, startTime: end }],
    [running, { ...running, startTime: null }],
    [running, { ...running, ...conditions('Complete') }],
    [running, { ...running, ...conditions('Complete', 'Failed', 'FailureTarget') }],
    [running, { ...running, ...conditions('Failed') }],
    [running, { ...running, active: 0, ready: 0, ...conditions('FailureTarget', 'Failed'), terminating: 1 }],
    [running, { ...running, ...conditions('SuccessCriteriaMet', 'FailureTarget') }],
    [running, { ...running, completionTime: '2025-01-01T00:00:00Z', ...conditions('SuccessCriteriaMet', 'Complete') }],
    [running, { ...done, uncountedTerminatedPods: { succeeded: ['a'] } }],
    [done, { ...done, completionTime: start }],
    [done, { ...done, conditions: [] }],
    [done, { ...done, active: 1 }],
    [done, { ...done, ...conditions('Complete') }],
    [
      { ...running, completedIndexes: '0-1' },
      { ...running, completedIndexes: '0-1', failedIndexes: '1' },
    ],
  ],
};
