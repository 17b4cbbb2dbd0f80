/**
 * Arbitrary objects at arbitrary destinations, for tests of aggregated statuses. The state of each destination is what an agent reports: the rules of
 * core/object/health.ts judge the object as the destination has it.
 */
import fc from 'fast-check';
import { health } from '../../core/object/health.ts';
import type { GroupResource } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { type DestinationState, destinationPartial, type Status } from '../../core/summary/destination-status.ts';
import { mergeStatusPartials, type ObjectStanding, type StatusPartial } from '../../core/summary/status-partial.ts';
import { rulesOf, type StatusRules } from '../../core/summary/status-rules.ts';

export interface CaseKind {
  readonly resource: GroupResource;
  readonly object: fc.Arbitrary<KubeObject>;
  /** The object as a destination has it: with the same or another number of replicas. */
  readonly there: (object: KubeObject) => fc.Arbitrary<KubeObject>;
}

export interface AggregateCase {
  readonly rules: StatusRules;
  readonly object: KubeObject;
  readonly states: readonly DestinationState[];
  readonly partial: StatusPartial;
}

export const generation = 3;
const meta = { name: 'web', namespace: 'shop', uid: 'u', generation, creationTimestamp: '2024-01-01T00:00:00Z' };
const labels = { app: 'web' };
const template = {
  metadata: { labels },
  spec: { restartPolicy: 'Always', containers: [{ name: 'c', image: 'web:1' }] },
};
const count = fc.nat(3);
const replicas = fc.constantFrom(0, 1, 2, 3);
/** At most destinations, the controller has done its work. */
const settled = fc.constantFrom(true, true, true, false);
const observed = fc.constantFrom(generation, generation, generation, generation - 1);

function conditionsOf(...arbitraries: fc.Arbitrary<object | undefined>[]): fc.Arbitrary<object[]> {
  return fc.tuple(...arbitraries).map((conditions) => conditions.flatMap((one) => (one ? [one] : [])));
}

function condition(type: string, ...values: [status: string, reason: string][]): fc.Arbitrary<object | undefined> {
  const some = fc
    .constantFrom(...values)
    .map(([status, reason]) => ({ type, status, reason, message: `${type} ${reason}` }));
  return fc.oneof({ weight: 4, arbitrary: some }, { weight: 1, arbitrary: fc.constant(undefined) });
}

function workload(
  kind: string,
  spec: fc.Arbitrary<object>,
  names: readonly string[],
  more: (isSettled: boolean) => fc.Arbitrary<object>,
): Pick<CaseKind, 'object' | 'there'> {
  return {
    object: fc.record({ replicas, spec }).map(({ replicas: wanted, spec: rest }) => ({
      apiVersion: 'apps/v1',
      kind,
      metadata: meta,
      spec: { replicas: wanted, selector: { matchLabels: labels }, template, ...rest },
    })),
    there: (object) =>
      fc.record({ own: fc.option(replicas, { freq: 4 }), isSettled: settled, generation: observed }).chain((at) => {
        const wanted = at.own ?? (object.spec as { replicas: number }).replicas;
        const counts = fc.record(
          Object.fromEntries(names.map((name) => [name, at.isSettled ? fc.constant(wanted) : count])),
        );
        return fc.tuple(counts, more(at.isSettled)).map(([numbers, rest]) => ({
          ...object,
          spec: { ...(object.spec as object), replicas: wanted },
          status: { ...atMost(numbers, numbers.replicas ?? 0), observedGeneration: at.generation, ...rest },
        }));
      }),
  };
}

/** No controller counts more ready pods than pods. */
function atMost(numbers: Readonly<Record<string, number>>, most: number): Record<string, number> {
  return Object.fromEntries(Object.entries(numbers).map(([name, number]) => [name, Math.min(number, most)]));
}

const deployment = workload(
  'Deployment',
  fc.constant({
    progressDeadlineSeconds: 600,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } },
  }),
  ['replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas'],
  (isSettled) =>
    isSettled
      ? fc.constant({
          conditions: [
            { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: 'm' },
            { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message: 'm' },
          ],
        })
      : conditionsOf(
          condition('Available', ['True', 'MinimumReplicasAvailable'], ['False', 'MinimumReplicasUnavailable']),
          condition(
            'Progressing',
            ['True', 'NewReplicaSetAvailable'],
            ['True', 'ReplicaSetUpdated'],
            ['False', 'ProgressDeadlineExceeded'],
          ),
          condition('ReplicaFailure', ['True', 'FailedCreate']),
        ).map((conditions) => ({ conditions })),
);

const statefulSet = workload(
  'StatefulSet',
  fc.constantFrom(
    { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } }, serviceName: 'web' },
    { updateStrategy: { type: 'RollingUpdate' }, serviceName: 'web' },
    { updateStrategy: { type: 'OnDelete' }, serviceName: 'web' },
  ),
  ['replicas', 'updatedReplicas', 'currentReplicas', 'readyReplicas', 'availableReplicas'],
  (isSettled) =>
    fc
      .constantFrom(...(isSettled ? ['b'] : ['a', 'b']))
      .map((currentRevision) => ({ currentRevision, updateRevision: 'b' })),
);

const replicaSet = workload(
  'ReplicaSet',
  fc.constant({}),
  ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
  (isSettled) =>
    isSettled
      ? fc.constant({})
      : conditionsOf(condition('ReplicaFailure', ['True', 'FailedCreate'])).map((conditions) => ({ conditions })),
);

const daemonSet: Pick<CaseKind, 'object' | 'there'> = {
  object: fc.constant({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: meta,
    spec: {
      selector: { matchLabels: labels },
      template,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
    },
  }),
  there: (object) =>
    fc
      .record({ isSettled: settled, desired: count, observedGeneration: observed })
      .chain(({ isSettled, desired, observedGeneration }) => {
        const number = isSettled ? fc.constant(desired) : count;
        const names = ['currentNumberScheduled', 'updatedNumberScheduled', 'numberReady', 'numberAvailable'];
        const numbers = fc.record(Object.fromEntries(names.map((name) => [name, number])));
        return numbers.map((of) => ({
          ...object,
          status: {
            ...atMost(of, desired),
            desiredNumberScheduled: desired,
            numberMisscheduled: 0,
            observedGeneration,
          },
        }));
      }),
};

const job: Pick<CaseKind, 'object' | 'there'> = {
  object: fc.constant({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: meta,
    spec: {
      completions: 1,
      parallelism: 1,
      backoffLimit: 2,
      template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } },
    },
  }),
  there: (object) =>
    fc
      .constantFrom('new', 'running', 'complete', 'complete', 'complete', 'failed')
      .map((stage) => ({ ...object, status: jobStatus(stage) })),
};

function jobStatus(stage: string): object {
  const startTime = '2024-01-01T00:00:01Z';
  const ended = (type: string, reason: string) => [{ type, status: 'True', reason, message: reason }];
  if (stage === 'new') return {};
  if (stage === 'running') return { startTime, active: 1, ready: 1 };
  if (stage === 'failed') return { startTime, failed: 3, conditions: ended('Failed', 'BackoffLimitExceeded') };
  return {
    startTime,
    completionTime: '2024-01-01T00:00:09Z',
    succeeded: 1,
    conditions: ended('Complete', 'CompletionsReached'),
  };
}

const pod: Pick<CaseKind, 'object' | 'there'> = {
  object: fc.constant({ apiVersion: 'v1', kind: 'Pod', metadata: meta, spec: template.spec }),
  there: (object) =>
    fc.constantFrom('Pending', 'Running', 'Running', 'Ready', 'Ready', 'Ready', 'Failed').map((stage) => {
      const phase = stage === 'Ready' ? 'Running' : stage;
      const ready = { type: 'Ready', status: stage === 'Ready' ? 'True' : 'False', reason: stage, message: stage };
      return { ...object, status: { phase, podIP: '10.0.0.1', conditions: [ready] } };
    }),
};

const claim: Pick<CaseKind, 'object' | 'there'> = {
  object: fc.constant({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: meta, spec: {} }),
  there: (object) =>
    fc
      .record({
        phase: fc.constantFrom('Bound', 'Bound', 'Pending', 'Lost'),
        size: fc.constantFrom('1Gi', '2Gi', '500M'),
      })
      .map(({ phase, size }) => ({
        ...object,
        status: { phase, accessModes: ['ReadWriteOnce'], capacity: { storage: size } },
      })),
};

/** A custom resource whose controller follows kstatus. */
const custom: Pick<CaseKind, 'object' | 'there'> = {
  object: fc.constant({ apiVersion: 'example.com/v1', kind: 'Till', metadata: meta, spec: {} }),
  there: (object) =>
    fc
      .record({
        observedGeneration: observed,
        conditions: conditionsOf(
          condition('Ready', ['True', 'Done'], ['True', 'Done'], ['False', 'Working'], ['Unknown', 'New']),
          condition('Stalled', ['False', 'Well'], ['False', 'Well'], ['True', 'Broken']),
        ),
        phase: fc.constantFrom('Open', 'Shut'),
      })
      .map((status) => ({ ...object, status })),
};

function plain(
  apiVersion: string,
  kind: string,
  spec: object,
  status: fc.Arbitrary<object>,
): Pick<CaseKind, 'object' | 'there'> {
  const object = fc.constant({ apiVersion, kind, metadata: meta, spec });
  return { object, there: (made) => status.map((one) => ({ ...made, status: one })) };
}

const address = fc.constantFrom('10.0.0.1', '10.0.0.2').map((ip) => ({ loadBalancer: { ingress: [{ ip }] } }));
const service = plain('v1', 'Service', { type: 'LoadBalancer', clusterIP: '10.96.0.9' }, address);
const ingress = plain('networking.k8s.io/v1', 'Ingress', {}, address);
const autoscaler = plain(
  'autoscaling/v2',
  'HorizontalPodAutoscaler',
  { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'web' } },
  fc.record({
    observedGeneration: observed,
    currentReplicas: count,
    desiredReplicas: count,
    conditions: conditionsOf(
      fc.constant({ type: 'AbleToScale', status: 'True', reason: 'ReadyForNewScale', message: 'm' }),
      condition('ScalingLimited', ['True', 'TooFewReplicas'], ['False', 'DesiredWithinRange']),
    ),
  }),
);
const budget = plain(
  'policy/v1',
  'PodDisruptionBudget',
  { minAvailable: 1 },
  fc.record({
    observedGeneration: observed,
    currentHealthy: count,
    desiredHealthy: count,
    expectedPods: count,
    disruptionsAllowed: count,
  }),
);
const cronJob = plain(
  'batch/v1',
  'CronJob',
  { schedule: '0 0 * * *' },
  fc.constant({ lastScheduleTime: '2024-01-01T00:00:00Z' }),
);

export const caseKinds: Readonly<Record<string, CaseKind>> = {
  Deployment: { resource: { group: 'apps', resource: 'deployments' }, ...deployment },
  StatefulSet: { resource: { group: 'apps', resource: 'statefulsets' }, ...statefulSet },
  ReplicaSet: { resource: { group: 'apps', resource: 'replicasets' }, ...replicaSet },
  DaemonSet: { resource: { group: 'apps', resource: 'daemonsets' }, ...daemonSet },
  Job: { resource: { group: 'batch', resource: 'jobs' }, ...job },
  Pod: { resource: { group: '', resource: 'pods' }, ...pod },
  PersistentVolumeClaim: { resource: { group: '', resource: 'persistentvolumeclaims' }, ...claim },
  Service: { resource: { group: '', resource: 'services' }, ...service },
  Ingress: { resource: { group: 'networking.k8s.io', resource: 'ingresses' }, ...ingress },
  HorizontalPodAutoscaler: { resource: { group: 'autoscaling', resource: 'horizontalpodautoscalers' }, ...autoscaler },
  PodDisruptionBudget: { resource: { group: 'policy', resource: 'poddisruptionbudgets' }, ...budget },
  CronJob: { resource: { group: 'batch', resource: 'cronjobs' }, ...cronJob },
  Till: { resource: { group: 'example.com', resource: 'tills' }, ...custom },
};

/** A Job that has ended stays so while its destination is not connected. */
export function isComplete(state: DestinationState): boolean {
  return hasEnded(state, 'Complete') && (state.standing === 'available' || state.standing === 'stale');
}

export function hasFailed(state: DestinationState): boolean {
  return state.standing === 'failed' || (state.standing === 'stale' && hasEnded(state, 'Failed'));
}

function hasEnded({ isCurrent, status }: DestinationState, type: 'Complete' | 'Failed'): boolean {
  const conditions = (status?.conditions ?? []) as readonly { type: string; reason: string }[];
  const reasons = ['CompletionsReached', 'BackoffLimitExceeded'];
  return isCurrent && conditions.some((one) => one.type === type && reasons.includes(one.reason));
}

/**
 * No count can say that the object is not ready: it has no replicas, or tools do not look at its counts. Then a status that is about the former generation says
 * so, and no tool looks for a failure in such a status. Only kubectl's rule for Deployments sees a failure without replicas.
 */
export function isUnread({ kind, spec }: KubeObject): boolean {
  const { replicas, updateStrategy } = spec as { replicas?: number; updateStrategy?: { type: string } };
  return (kind !== 'Deployment' && replicas === 0) || updateStrategy?.type === 'OnDelete';
}

const places: fc.Arbitrary<ObjectStanding | 'fresh'> = fc.oneof(
  { weight: 12, arbitrary: fc.constant('fresh' as const) },
  { weight: 1, arbitrary: fc.constantFrom('stale', 'never', 'quarantined', 'conflicted', 'refused' as 'failed') },
);

/** One object at one to four destinations. */
export function aggregateCase({ resource, object, there }: CaseKind): fc.Arbitrary<AggregateCase> {
  const rules = rulesOf(resource);
  return object.chain((made) => {
    const state = fc
      .record({ at: there(made), place: places, isCurrent: fc.constantFrom(true, true, true, true, true, false) })
      .map(({ at, place, isCurrent }) => stateOf(at, place as ObjectStanding | 'fresh' | 'refused', isCurrent));
    return fc.array(state, { minLength: 1, maxLength: 4 }).map((list) => {
      const states = list.map((one, i) => ({ ...one, path: `eu:${'abcd'[i]}` }));
      return { rules, object: made, states, partial: totalOf(rules, states) };
    });
  });
}

/** The partial of all destinations, as a node with these children has it. */
export function totalOf(rules: StatusRules, states: readonly DestinationState[]): StatusPartial {
  const partials = states.map((state) => destinationPartial(rules, state));
  const total = partials.reduce((a, b) => mergeStatusPartials(rules, a, b));
  const [first] = states;
  return states.length === 1 && first!.status ? { ...total, only: first!.status } : total;
}

function stateOf(
  at: KubeObject,
  place: ObjectStanding | 'fresh' | 'refused',
  isCurrent: boolean,
): Omit<DestinationState, 'path'> {
  const judged = health(at);
  const told = { reason: judged.reason, message: judged.message, generation, isCurrent };
  const status = at.status as Status;
  const of = { status, accepted: isCurrent ? generation : generation - 1 };
  if (place === 'refused')
    return { ...told, standing: 'failed', reason: 'Forbidden', message: 'exceeded quota', isCurrent: true };
  if (place === 'never' || place === 'conflicted') return { ...told, standing: place };
  if (place !== 'fresh') return { ...told, ...of, standing: place };
  if (!isCurrent) return { ...told, ...of, standing: 'waiting', status: { ...status, ...observedOf(status) } };
  const standing = judged.state === 'Current' ? 'available' : judged.state === 'Failed' ? 'failed' : 'waiting';
  return { ...told, ...of, standing };
}

/** A status that is about a former generation says so, if the kind has the field. */
function observedOf({ observedGeneration }: Status): object {
  return typeof observedGeneration === 'number'
    ? { observedGeneration: Math.min(observedGeneration, generation - 1) }
    : {};
}
