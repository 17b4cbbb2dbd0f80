/**
 * Computes whether an object has become what its spec asks for, by the rules that users of kubectl, Flux and Argo CD know as kstatus
 * (https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus). Pure: the function looks only at one object, and not at the time.
 *
 * These rules are stricter than kstatus, because a move or a release treats a Current object as a copy that serves. An object is not Current until its
 * controller has seen the newest generation. A StatefulSet with manual updates (OnDelete) is not Current until its pods are ready. A Pod that ended with an
 * error has failed.
 */
import { type KubeObject, parseApiVersion } from './meta.ts';
import { podCause } from './pod-cause.ts';
import { steadyText } from './steady-text.ts';
import { isTerminating, terminating, terminatingMessage } from './terminating.ts';

export interface ObjectHealth {
  readonly state: 'Current' | 'InProgress' | 'Failed' | 'Terminating';
  readonly reason: string;
  readonly message: string;
  /** The object has failed if it is still in this state at this age. The caller has a clock and looks again at that time. */
  readonly failsAfterMs?: number;
}

/** Time in which a pod may have no node: the ScheduleWindow of kstatus. */
const scheduleWindowMs = 15_000;

export function health(object: KubeObject): ObjectHealth {
  if (isTerminating(object)) {
    return { state: 'Terminating', reason: terminating, message: terminatingMessage(object) };
  }
  const { group } = parseApiVersion(object.apiVersion);
  const status = recordOf(object.status);
  return (
    outdated(object, status) ??
    byConvention(status) ??
    (kindRules[`${group}/${object.kind}`] ?? generic)(object, status)
  );
}

type Status = Readonly<Record<string, unknown>>;
type HealthRule = (object: KubeObject, status: Status) => ObjectHealth;

const kindRules: Readonly<Record<string, HealthRule>> = {
  'apps/Deployment': deployment,
  'apps/ReplicaSet': replicaSet,
  'apps/StatefulSet': statefulSet,
  'apps/DaemonSet': daemonSet,
  'batch/Job': job,
  '/Pod': pod,
  '/PersistentVolumeClaim': claim,
  '/Service': service,
  'policy/PodDisruptionBudget': disruptionBudget,
  'apiextensions.k8s.io/CustomResourceDefinition': definition,
  'apiregistration.k8s.io/APIService': apiService,
};

// --------------------------------------------------------------------------------------------------- workloads

function deployment(object: KubeObject, status: Status): ObjectHealth {
  const progressing = conditionOf(status, 'Progressing');
  const failure = conditionOf(status, 'ReplicaFailure');
  // Only this condition has the reason why pods are not created, for example a quota.
  const refusal = failure?.status === 'True' ? steadyText(failure.message) : '';
  if (progressing?.reason === 'ProgressDeadlineExceeded') {
    const messages = [progressing.message, refusal].filter((message) => message !== '');
    return failed('ProgressDeadlineExceeded', messages.join(': '));
  }
  const wanted = numberOf(recordOf(object.spec).replicas, 1);
  const [total, updated, available, ready] = replicaCounts(status, 'updatedReplicas', 'availableReplicas');
  if (!('observedGeneration' in status)) return inProgress('NoStatus', 'the controller has not looked at it yet');
  if (refusal !== '' && Math.min(total, updated) < wanted) return inProgress('ReplicaFailure', refusal);
  if (total < wanted) return inProgress('LessReplicas', `${total} of ${wanted} replicas exist`);
  if (updated < wanted) return inProgress('LessUpdated', `${updated} of ${wanted} replicas are updated`);
  if (total > wanted) return inProgress('ExtraPods', `${total - wanted} replicas are to be removed`);
  if (available < updated) return inProgress('LessAvailable', `${available} of ${updated} replicas are available`);
  if (ready < wanted) return inProgress('LessReady', `${ready} of ${wanted} replicas are ready`);
  // The controller of Kubernetes writes the conditions together with the counts. It writes Progressing only if the Deployment has a deadline. Other
  // controllers may write no conditions. Then only the counts decide.
  if (progressing && progressing.reason !== 'NewReplicaSetAvailable') {
    return inProgress('ReplicaSetNotAvailable', 'the new ReplicaSet is not available');
  }
  const availability = conditionOf(status, 'Available');
  if (availability && availability.status !== 'True') return inProgress('NotAvailable', availability.message);
  return current(`${wanted} replicas are available`);
}

function replicaSet(object: KubeObject, status: Status): ObjectHealth {
  const failure = conditionOf(status, 'ReplicaFailure');
  if (failure?.status === 'True') return inProgress('ReplicaFailure', steadyText(failure.message));
  const wanted = numberOf(recordOf(object.spec).replicas, 1);
  const [total, labelled, available, ready] = replicaCounts(status, 'fullyLabeledReplicas', 'availableReplicas');
  if (!('observedGeneration' in status)) return inProgress('NoStatus', 'the controller has not looked at it yet');
  if (labelled < wanted) return inProgress('LessLabelled', `${labelled} of ${wanted} replicas are labelled`);
  if (available < wanted) return inProgress('LessAvailable', `${available} of ${wanted} replicas are available`);
  if (ready < wanted) return inProgress('LessReady', `${ready} of ${wanted} replicas are ready`);
  if (total > wanted) return inProgress('ExtraPods', `${total - wanted} replicas are to be removed`);
  return current(`${wanted} replicas are available`);
}

function statefulSet(object: KubeObject, status: Status): ObjectHealth {
  const spec = recordOf(object.spec);
  const strategy = recordOf(spec.updateStrategy);
  const wanted = numberOf(spec.replicas, 1);
  const [total, updated, , ready] = replicaCounts(status, 'updatedReplicas', 'availableReplicas');
  if (!('observedGeneration' in status)) return inProgress('NoStatus', 'the controller has not looked at it yet');
  if (total < wanted) return inProgress('LessReplicas', `${total} of ${wanted} replicas exist`);
  if (ready < wanted) return inProgress('LessReady', `${ready} of ${wanted} replicas are ready`);
  if (total > wanted) return inProgress('ExtraPods', `${total - wanted} replicas are to be removed`);
  if (strategy.type === 'OnDelete') return current(`${wanted} replicas are ready; updates wait for a deletion`);
  const partition = numberOf(recordOf(strategy.rollingUpdate).partition, 0);
  if (partition > 0) {
    return updated < wanted - partition
      ? inProgress('PartitionRollout', `${updated} of ${wanted - partition} replicas above the partition are updated`)
      : current(`${wanted - partition} replicas above the partition are updated`);
  }
  if (status.currentRevision !== status.updateRevision) {
    return inProgress('LessUpdated', `${updated} of ${wanted} replicas are updated`);
  }
  return current(`${wanted} replicas are ready`);
}

function daemonSet(_object: KubeObject, status: Status): ObjectHealth {
  if (!('observedGeneration' in status)) return inProgress('NoStatus', 'the controller has not looked at it yet');
  const wanted = numberOf(status.desiredNumberScheduled, -1);
  if (wanted < 0) return inProgress('NoDesiredNumber', 'the number of nodes is not known yet');
  const scheduled = numberOf(status.currentNumberScheduled, 0);
  const updated = numberOf(status.updatedNumberScheduled, 0);
  const available = numberOf(status.numberAvailable, 0);
  const ready = numberOf(status.numberReady, 0);
  if (scheduled < wanted) return inProgress('LessScheduled', `${scheduled} of ${wanted} nodes have a pod`);
  if (updated < wanted) return inProgress('LessUpdated', `${updated} of ${wanted} pods are updated`);
  if (available < wanted) return inProgress('LessAvailable', `${available} of ${wanted} pods are available`);
  if (ready < wanted) return inProgress('LessReady', `${ready} of ${wanted} pods are ready`);
  return current(`${wanted} pods are available`);
}

/** A Job that has started counts as Current, because a rollout does not wait for the result of a Job. */
function job(_object: KubeObject, status: Status): ObjectHealth {
  const failure = conditionOf(status, 'Failed');
  if (failure?.status === 'True') return failed('JobFailed', failure.message);
  const succeeded = numberOf(status.succeeded, 0);
  if (conditionOf(status, 'Complete')?.status === 'True') return current(`complete, ${succeeded} pods succeeded`);
  if (conditionOf(status, 'Suspended')?.status === 'True') return current('suspended');
  if (status.startTime === undefined) return inProgress('JobNotStarted', 'the job has not started');
  return current(`started, ${numberOf(status.active, 0)} pods active`);
}

function pod(object: KubeObject, status: Status): ObjectHealth {
  const ready = conditionOf(status, 'Ready');
  switch (status.phase) {
    case 'Succeeded':
      return current('the pod has completed');
    case 'Failed':
      return failed('PodFailed', textOf(status.message, 'the pod has failed'));
    case 'Running': {
      if (ready?.status === 'True') return current('the pod is ready');
      const cause = podCause(object)?.message ?? 'the pod is not ready';
      return isWaitingFor(status, 'CrashLoopBackOff')
        ? failed('CrashLoopBackOff', cause)
        : inProgress('PodNotReady', cause);
    }
    default: {
      const scheduled = conditionOf(status, 'PodScheduled');
      if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable') {
        return { ...inProgress('PodUnschedulable', steadyText(scheduled.message)), failsAfterMs: scheduleWindowMs };
      }
      const cause = podCause(object);
      return cause && cause.rank < 2
        ? inProgress(cause.reason, cause.message)
        : inProgress('PodPending', 'the pod is pending');
    }
  }
}

function isWaitingFor(status: Status, reason: string): boolean {
  const containers = Array.isArray(status.containerStatuses) ? status.containerStatuses.map(recordOf) : [];
  return containers.some((container) => recordOf(recordOf(container.state).waiting).reason === reason);
}

// ------------------------------------------------------------------------------------------------ other kinds

function claim(_object: KubeObject, status: Status): ObjectHealth {
  return status.phase === 'Bound'
    ? current('bound')
    : inProgress('NotBound', `phase ${textOf(status.phase, 'Pending')}`);
}

function service(object: KubeObject, status: Status): ObjectHealth {
  const spec = recordOf(object.spec);
  if (spec.type !== 'LoadBalancer') return current('the service is ready');
  const ingress = recordOf(status.loadBalancer).ingress;
  return (Array.isArray(ingress) && ingress.length > 0) || textOf(spec.clusterIP, '') !== ''
    ? current('the service is ready')
    : inProgress('NoIPAssigned', 'no address is assigned yet');
}

function disruptionBudget(_object: KubeObject, status: Status): ObjectHealth {
  return 'observedGeneration' in status || 'currentHealthy' in status
    ? generic(_object, status)
    : inProgress('NoStatus', 'the controller has not looked at it yet');
}

function definition(_object: KubeObject, status: Status): ObjectHealth {
  const names = conditionOf(status, 'NamesAccepted');
  if (names?.status === 'False') return failed(names.reason, names.message);
  const established = conditionOf(status, 'Established');
  if (established?.status === 'True') return current('the kind is served');
  if (established?.status === 'False' && established.reason !== 'Installing') {
    return failed(established.reason, established.message);
  }
  return inProgress('Installing', 'the kind is not served yet');
}

/** While a group has no server, clients can't read it, and the cluster can't finish the deletion of a namespace. An embedded cluster asks no servers. */
function apiService(_object: KubeObject, status: Status): ObjectHealth {
  const available = conditionOf(status, 'Available');
  if (available && available.status !== 'True') return inProgress(available.reason, available.message);
  return current('the group is served');
}

/** The rule for kinds that have no rule of their own. */
function generic(_object: KubeObject, status: Status): ObjectHealth {
  const ready = conditionOf(status, 'Ready');
  if (ready && ready.status !== 'True') return inProgress(ready.reason || 'NotReady', ready.message);
  return current(ready ? 'ready' : 'the object exists');
}

/** Applies to every kind, before the rule of the kind. Reads the conditions that kstatus asks controllers to set. */
function byConvention(status: Status): ObjectHealth | undefined {
  const stalled = conditionOf(status, 'Stalled');
  if (stalled?.status === 'True') return failed(stalled.reason || 'Stalled', stalled.message);
  const reconciling = conditionOf(status, 'Reconciling');
  if (reconciling?.status === 'True') return inProgress(reconciling.reason || 'Reconciling', reconciling.message);
  return undefined;
}

/** Applies to every kind. A status for another generation does not describe the present generation. */
function outdated(object: KubeObject, status: Status): ObjectHealth | undefined {
  const { generation } = object.metadata;
  const observed = status.observedGeneration;
  if (typeof observed !== 'number' || generation === undefined || observed === generation) return undefined;
  return inProgress('LatestGenerationNotObserved', `generation ${generation} exists, ${observed} is observed`);
}

// ----------------------------------------------------------------------------------------------------- reading

interface ConditionView {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function conditionOf(status: Status, type: string): ConditionView | undefined {
  if (!Array.isArray(status.conditions)) return undefined;
  const found = status.conditions.map(recordOf).find((condition) => condition.type === type);
  return (
    found && {
      status: textOf(found.status, 'Unknown'),
      reason: textOf(found.reason, ''),
      message: textOf(found.message, ''),
    }
  );
}

function replicaCounts(status: Status, second: string, third: string): [number, number, number, number] {
  const of = (name: string) => numberOf(status[name], 0);
  return [of('replicas'), of(second), of(third), of('readyReplicas')];
}

function recordOf(value: unknown): Status {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Status) : {};
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise;
}

function current(message: string): ObjectHealth {
  return { state: 'Current', reason: 'Current', message };
}

function inProgress(reason: string, message: string): ObjectHealth {
  return { state: 'InProgress', reason, message };
}

function failed(reason: string, message: string): ObjectHealth {
  return { state: 'Failed', reason, message };
}
