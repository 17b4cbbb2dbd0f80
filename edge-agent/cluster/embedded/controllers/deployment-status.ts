/** Computes the status of a Deployment from its spec, its last status and the pods that exist. */
import { timestamp } from '../../../../core/object/conditions.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { type PodTemplate, positive } from './pods.ts';
import { rollingUpdate } from './rolling-update.ts';

export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    paused?: boolean;
    selector?: { matchLabels?: Record<string, string>; matchExpressions?: unknown[] };
    template: PodTemplate;
    strategy?: { type?: string; rollingUpdate?: { maxSurge?: number | string; maxUnavailable?: number | string } };
    minReadySeconds?: number;
    progressDeadlineSeconds?: number;
    revisionHistoryLimit?: number;
  };
  status?: DeploymentStatus;
}

export interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  conditions?: DeploymentCondition[];
}

interface DeploymentCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastUpdateTime: string;
  lastTransitionTime: string;
}

/** The counts of all pods of the Deployment. `updated` counts the pods of the newest ReplicaSet, and `newest` is the name of this ReplicaSet. */
export interface PodCounts {
  readonly replicas: number;
  readonly updated: number;
  readonly ready: number;
  readonly available: number;
  readonly newest: string;
}

type NewDeploymentCondition = Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>;

/** Computes the status. `againMs`: if the rollout makes no progress for this time, it counts as stuck. Undefined: no such time is running. */
export function deploymentStatus(
  deployment: Deployment,
  counts: PodCounts,
  nowMs: number,
  progressDeadlineMaxMs: number,
): { status: DeploymentStatus; againMs: number | undefined } {
  const { spec, metadata } = deployment;
  const before = deployment.status?.conditions ?? [];
  const progress = progressOf(deployment, counts, nowMs, progressDeadlineMaxMs);
  const unavailable = Math.max(0, Math.max(spec.replicas ?? 1, counts.replicas) - counts.available);
  const now = timestamp(nowMs);
  const status = {
    observedGeneration: metadata.generation ?? 1,
    ...positive({
      replicas: counts.replicas,
      updatedReplicas: counts.updated,
      readyReplicas: counts.ready,
      availableReplicas: counts.available,
      unavailableReplicas: unavailable,
    }),
    conditions: [
      withUpdate(before, availability(deployment, counts), false, now),
      withUpdate(before, progress.condition, progress.moved, now),
    ],
  };
  return { status, againMs: progress.againMs };
}

function availability({ spec }: Deployment, counts: PodCounts): NewDeploymentCondition {
  const { replicas = 1, strategy } = spec;
  const { maxUnavailable } = rollingUpdate(replicas, strategy?.rollingUpdate);
  const minimum = strategy?.type === 'Recreate' ? replicas : replicas - maxUnavailable;
  return counts.available >= minimum
    ? condition('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.')
    : condition('Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.');
}

interface RolloutProgress {
  readonly condition: NewDeploymentCondition;
  /** Whether the deadline starts again. */
  readonly moved: boolean;
  readonly againMs: number | undefined;
}

function progressOf(deployment: Deployment, counts: PodCounts, nowMs: number, deadlineMaxMs: number): RolloutProgress {
  const { spec } = deployment;
  const { newest } = counts;
  const still = { moved: false, againMs: undefined };
  if (isDone(spec.replicas ?? 1, counts)) {
    const message = `ReplicaSet "${newest}" has successfully progressed.`;
    return { ...still, condition: condition('Progressing', 'True', 'NewReplicaSetAvailable', message) };
  }
  if (spec.paused) {
    return { ...still, condition: condition('Progressing', 'Unknown', 'DeploymentPaused', 'Deployment is paused') };
  }
  const before = deployment.status?.conditions?.find((one) => one.type === 'Progressing');
  const deadlineMs = Math.min((spec.progressDeadlineSeconds ?? 600) * 1000, deadlineMaxMs);
  const moved = before === undefined || hasMoved(deployment, before, counts);
  const leftMs = moved ? deadlineMs : Date.parse(before.lastUpdateTime) + deadlineMs - nowMs;
  if (!moved && (leftMs <= 0 || before.reason === 'ProgressDeadlineExceeded')) {
    const message = `ReplicaSet "${newest}" has timed out progressing.`;
    return { ...still, condition: condition('Progressing', 'False', 'ProgressDeadlineExceeded', message) };
  }
  const message = `ReplicaSet "${newest}" is progressing.`;
  return { condition: condition('Progressing', 'True', 'ReplicaSetUpdated', message), moved, againMs: leftMs };
}

function isDone(replicas: number, counts: PodCounts): boolean {
  const { updated, available, newest } = counts;
  return newest !== '' && updated === replicas && counts.replicas === replicas && available === replicas;
}

/** Whether the rollout has made a step: a new spec, a new pod, one more ready pod, or one old pod less. */
function hasMoved({ status = {}, metadata }: Deployment, before: DeploymentCondition, counts: PodCounts): boolean {
  const old = (status.replicas ?? 0) - (status.updatedReplicas ?? 0);
  return (
    status.observedGeneration !== metadata.generation ||
    before.reason === 'NewReplicaSetAvailable' ||
    counts.updated > (status.updatedReplicas ?? 0) ||
    counts.ready > (status.readyReplicas ?? 0) ||
    counts.available > (status.availableReplicas ?? 0) ||
    counts.replicas - counts.updated < old
  );
}

function condition(type: string, status: string, reason: string, message: string): NewDeploymentCondition {
  return { type, status, reason, message };
}

/**
 * Returns the condition with its times. lastUpdateTime changes with any change of the condition and with progress of the rollout. lastTransitionTime changes
 * only with the condition's status.
 */
function withUpdate(
  before: readonly DeploymentCondition[],
  next: NewDeploymentCondition,
  moved: boolean,
  now: string,
): DeploymentCondition {
  const old = before.find((one) => one.type === next.type);
  const same =
    old && !moved && old.status === next.status && old.reason === next.reason && old.message === next.message;
  return {
    ...next,
    lastUpdateTime: same ? old.lastUpdateTime : now,
    lastTransitionTime: old && old.status === next.status ? old.lastTransitionTime : now,
  };
}
