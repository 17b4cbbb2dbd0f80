/**
 * The table of kinds: for each field of a `.status`, the rule that makes one value from the values of many destinations. docs/reference/aggregated-status.md
 * has the same table; `npm run generate` writes it from this file.
 *
 * `spec.replicas` is a number for each destination, and tools compare the counts of a status with `spec.replicas`. So the counts of a workload are those of the
 * worst destination, not sums (decision 0047).
 */
import { formatGroupResource, type GroupResource } from '../object/key.ts';

/**
 * How a rule merges the values of the destinations:
 * - `replicas`: `spec.replicas` of the space's object if the object is available everywhere; otherwise the least value of the destinations at which the object
 *   is not available, at most `spec.replicas`. `short`: less than `spec.replicas`. `most`: the greatest value, at least `spec.replicas`.
 * - `scheduled`: the sum. At a destination where the object is not available, it is less than the number that the destination wants.
 * - `wanted`: the sum of the numbers that the destinations want. A destination that gives no number wants one.
 * - `sum`, `least`, `most`: of the numbers. A destination that gives no number counts as 0.
 * - `phase`: the first of the listed values that a destination has. A destination that gives no value has the value `otherwise`.
 * - `first`, `last`: the earliest or latest time, once every destination gives one.
 * - `quantity`: the least quantity, once every destination gives one.
 * - `union`: the different items of the lists, once every destination gives one or the object is available there. Sorted, at most `unionMax`.
 * - `same`: the value, while all destinations give the same one.
 * - `told`: the sum of the numbers of the field `of`. It is no field of the status: a message has it.
 */
export type FieldRule =
  | { readonly rule: 'replicas'; readonly bound?: 'short' | 'most' }
  | { readonly rule: 'scheduled' | 'wanted' | 'sum' | 'least' | 'most' }
  | { readonly rule: 'told'; readonly of: string }
  | { readonly rule: 'phase'; readonly worstFirst: readonly string[]; readonly otherwise: string }
  | { readonly rule: 'first' | 'last' | 'quantity' | 'union' | 'same' };

export interface StatusRules {
  /** Keyed by the path of the field below `.status`. A dot separates the parts of the path. */
  readonly fields: Readonly<Record<string, FieldRule>>;
  /** The type of the condition that says whether the object is available. The aggregate always has this condition. Absent: the kind has none. */
  readonly ready?: string;
  /** Other types that are not True while the object is not available: Argo CD takes an autoscaler as healthy if one of two conditions is True. */
  readonly readyToo?: readonly string[];
  /** The condition `ready` is True if the object is available everywhere, whatever the destinations say: a Pod that has succeeded is not Ready. */
  readonly decidesReady?: true;
  /**
   * `made`: the aggregate has only the conditions that it makes itself. `ended`: the conditions say how the object ended, and stay true while a destination
   * is not connected; only conditions that are True exist. Absent: conditions of one type are merged, see status-conditions.ts.
   */
  readonly conditions?: 'made' | 'ended';
  /** Tools read the counts only if `spec.updateStrategy.type` is `RollingUpdate`. */
  readonly rolls?: true;
  /** Fields that follow from others (aggregated-fields.ts). A field that the kind lacks would make strict clients refuse the object. */
  readonly derives?: 'unavailableReplicas' | 'currentRevision' | 'numberUnavailable';
  /** The kind has `observedGeneration`. Absent: the status of the destinations decides. */
  readonly observes?: boolean;
}

/** Limit for the items of a list: enough for the places that people look through. It bounds the size of a status for any number of destinations. */
export const unionMax = 100;

const replicas = { rule: 'replicas' } as const;
const short = { rule: 'replicas', bound: 'short' } as const;
const most = { rule: 'replicas', bound: 'most' } as const;
const scheduled = { rule: 'scheduled' } as const;
const sum = { rule: 'sum' } as const;
const least = { rule: 'least' } as const;
const first = { rule: 'first' } as const;
const last = { rule: 'last' } as const;
const union = { rule: 'union' } as const;
const same = { rule: 'same' } as const;

/** Names of the two sums that messages have. No field of Kubernetes has a blank in its name. */
export const availableTotal = 'available in all';
export const replicasTotal = 'replicas in all';
const totals = {
  [availableTotal]: { rule: 'told', of: 'availableReplicas' },
  [replicasTotal]: { rule: 'told', of: 'replicas' },
} as const;

const replicaSet: StatusRules = {
  fields: { replicas: most, fullyLabeledReplicas: replicas, readyReplicas: short, availableReplicas: short, ...totals },
  conditions: 'made',
  observes: true,
};
const addressed: StatusRules = { fields: { 'loadBalancer.ingress': union }, observes: false };

export const statusRules: Readonly<Record<string, StatusRules>> = {
  'deployments.apps': {
    fields: { replicas: most, updatedReplicas: replicas, readyReplicas: short, availableReplicas: short, ...totals },
    derives: 'unavailableReplicas',
    ready: 'Available',
    conditions: 'made',
    observes: true,
  },
  'statefulsets.apps': {
    fields: {
      replicas: most,
      updatedReplicas: replicas,
      currentReplicas: replicas,
      readyReplicas: short,
      availableReplicas: short,
      updateRevision: same,
      ...totals,
    },
    derives: 'currentRevision',
    rolls: true,
    conditions: 'made',
    observes: true,
  },
  'replicasets.apps': replicaSet,
  replicationcontrollers: replicaSet,
  'daemonsets.apps': {
    fields: {
      desiredNumberScheduled: { rule: 'wanted' },
      currentNumberScheduled: sum,
      updatedNumberScheduled: scheduled,
      numberReady: scheduled,
      numberAvailable: scheduled,
      numberMisscheduled: sum,
    },
    derives: 'numberUnavailable',
    rolls: true,
    conditions: 'made',
    observes: true,
  },
  'jobs.batch': {
    fields: {
      active: { rule: 'most' },
      ready: { rule: 'most' },
      succeeded: least,
      failed: { rule: 'most' },
      startTime: first,
      completionTime: last,
    },
    conditions: 'ended',
    observes: false,
  },
  'cronjobs.batch': { fields: { lastScheduleTime: first, lastSuccessfulTime: first }, observes: false },
  pods: {
    fields: {
      phase: {
        rule: 'phase',
        worstFirst: ['Failed', 'Unknown', 'Pending', 'Running', 'Succeeded'],
        otherwise: 'Pending',
      },
      startTime: first,
    },
    ready: 'Ready',
    decidesReady: true,
    observes: false,
  },
  persistentvolumeclaims: {
    fields: {
      phase: { rule: 'phase', worstFirst: ['Lost', 'Pending', 'Bound'], otherwise: 'Pending' },
      'capacity.storage': { rule: 'quantity' },
      accessModes: same,
    },
    observes: false,
  },
  services: addressed,
  'ingresses.networking.k8s.io': addressed,
  'gateways.gateway.networking.k8s.io': { fields: { addresses: union } },
  'horizontalpodautoscalers.autoscaling': {
    fields: { currentReplicas: sum, desiredReplicas: sum, lastScaleTime: last },
    ready: 'AbleToScale',
    readyToo: ['ScalingLimited'],
  },
  'poddisruptionbudgets.policy': {
    fields: { currentHealthy: sum, desiredHealthy: sum, expectedPods: sum, disruptionsAllowed: least },
    observes: true,
  },
  'workflows.argoproj.io': {
    fields: {
      phase: {
        rule: 'phase',
        worstFirst: ['Error', 'Failed', 'Pending', 'Running', 'Succeeded'],
        otherwise: 'Pending',
      },
      startedAt: first,
      finishedAt: last,
    },
  },
};

/** Kinds without a row in the table, such as custom resources. */
export const otherKinds: StatusRules = { fields: { phase: same } };

export function rulesOf(resource: GroupResource): StatusRules {
  return statusRules[formatGroupResource(resource)] ?? otherKinds;
}
