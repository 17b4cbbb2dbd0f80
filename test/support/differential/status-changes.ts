/** Changes of the status of valid objects, right and wrong: the kind, and merge patches of the status one after the other, all from the state after the creation. */
type Statuses = readonly object[];

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
