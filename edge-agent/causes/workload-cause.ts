/** Finds out why a workload is not available, from its pods and from Events. Pure. */

import type { KubeObject } from '../../core/object/meta.ts';
import { isReadyPod, type PodCause, podCause } from '../../core/object/pod-cause.ts';
import type { LabelSelector } from '../../core/object/selector.ts';
import { steadyText } from '../../core/object/steady-text.ts';
import { isTerminating } from '../../core/object/terminating.ts';

export interface WaitCause {
  readonly reason: string;
  /** `2/4 pods ready: container app CrashLoopBackOff: exit code 1` */
  readonly message: string;
}

/** The parts of a workload that say which pods it has. */
export interface PodsOf {
  readonly selector: LabelSelector;
  readonly wanted: number;
}

interface WorkloadView {
  readonly spec?: {
    readonly replicas?: number;
    readonly parallelism?: number;
    readonly completions?: number;
    /** A ReplicationController has a map of labels here. */
    readonly selector?: LabelSelector | Record<string, string>;
  };
  readonly status?: { readonly desiredNumberScheduled?: number };
}

/** Resources of objects that have pods, directly or through ReplicaSets. */
export const workloadResources: ReadonlySet<string> = new Set([
  'apps/deployments',
  'apps/statefulsets',
  'apps/daemonsets',
  'apps/replicasets',
  'batch/jobs',
  '/replicationcontrollers',
]);

/** Returns undefined if the workload has no selector yet: its controller has not looked at it. */
export function podsOf(workload: KubeObject): PodsOf | undefined {
  const { spec = {}, status = {} } = workload as WorkloadView;
  const { selector } = spec;
  if (!selector || Object.keys(selector).length === 0) return undefined;
  const wanted = {
    DaemonSet: status.desiredNumberScheduled ?? 0,
    Job: Math.min(spec.parallelism ?? 1, spec.completions ?? Number.MAX_SAFE_INTEGER),
  }[workload.kind];
  const isPlain = workload.kind === 'ReplicationController';
  return {
    selector: isPlain ? { matchLabels: selector as Record<string, string> } : (selector as LabelSelector),
    wanted: wanted ?? spec.replicas ?? 1,
  };
}

export interface PodTrouble extends PodCause {
  /** A pod with this cause. Its Events may say more. */
  readonly uid: string;
}

/** Returns the cause that most pods have, among the causes that explain most. Equal pods in any order give the same cause. */
export function commonTrouble(pods: readonly KubeObject[]): PodTrouble | undefined {
  const byText = new Map<string, { readonly trouble: PodTrouble; count: number }>();
  for (const pod of [...pods].sort((a, b) => compare(a.metadata.name ?? '', b.metadata.name ?? ''))) {
    const cause = isTerminating(pod) ? undefined : podCause(pod);
    if (!cause) continue;
    const same = byText.get(cause.message);
    if (same) same.count++;
    else byText.set(cause.message, { trouble: { ...cause, uid: pod.metadata.uid ?? '' }, count: 1 });
  }
  const [first] = [...byText.values()].sort(
    (a, b) => a.trouble.rank - b.trouble.rank || b.count - a.count || compare(a.trouble.message, b.trouble.message),
  );
  return first?.trouble;
}

/** Returns the number of pods that exist and have not ended. */
export function presentPods(pods: readonly KubeObject[]): number {
  return pods.filter((pod) => {
    const { phase } = (pod.status ?? {}) as { phase?: string };
    return !isTerminating(pod) && phase !== 'Failed' && phase !== 'Succeeded';
  }).length;
}

interface EventView {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Returns the reason and text of one warning. The choice does not depend on the order or the times of the Events, so that it stays the same. */
export function warningOf(events: readonly KubeObject[], only?: string): WaitCause | undefined {
  const warnings = (events as readonly (KubeObject & EventView)[])
    .filter(({ type, reason }) => type === 'Warning' && (only === undefined || reason === only))
    .map(({ reason = '', message = '' }) => ({ reason, message: steadyText(message) }))
    .sort((a, b) => compare(a.reason, b.reason) || compare(a.message, b.message));
  return warnings[0];
}

/** `2/4 pods ready: …` */
export function workloadCause(
  { wanted }: PodsOf,
  pods: readonly KubeObject[],
  trouble: WaitCause | undefined,
  warning: WaitCause | undefined,
): WaitCause | undefined {
  const found = warning && trouble ? both(trouble, warning) : (warning ?? trouble);
  if (!found) return undefined;
  const ready = Math.min(wanted, pods.filter((pod) => !isTerminating(pod) && isReadyPod(pod)).length);
  return { reason: found.reason, message: steadyText(`${ready}/${wanted} pods ready: ${found.message}`) };
}

/** The warning says why the pod is in its state: `container app ContainerCreating: FailedMount: configmap "a" not found`. */
function both(trouble: WaitCause, warning: WaitCause): WaitCause {
  const [state = ''] = trouble.message.split(': ');
  return { reason: warning.reason, message: `${state}: ${warning.reason}: ${warning.message}` };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
