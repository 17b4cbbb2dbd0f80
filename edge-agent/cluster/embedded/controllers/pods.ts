/** Functions with which the workload controllers create and count pods. */

import { stableStringify } from '../../../../core/object/canonical.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { isTerminating } from '../../../../core/object/terminating.ts';
import { compareText } from '../../../../core/object/text-order.ts';
import { ownerReference } from './objects.ts';

export const podResource: GroupResource = { group: '', resource: 'pods' };

export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: PodSpec;
}

interface PodSpec {
  nodeName?: string;
  schedulerName?: string;
  restartPolicy?: string;
  containers?: Container[];
  initContainers?: Container[];
  volumes?: { name: string; [source: string]: unknown }[];
  readinessGates?: unknown[];
  [field: string]: unknown;
}

export interface Container {
  name: string;
  image?: string;
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
}

export interface Pod extends KubeObject {
  spec?: PodSpec;
  status?: PodStatus;
}

export interface PodStatus {
  phase?: string;
  conditions?: { type: string; status: string; lastTransitionTime?: string }[];
  [field: string]: unknown;
}

/** The characters for the ends of the names of pods and ReplicaSets. As in Kubernetes, they can't form words. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** The hash of a pod template. Equal templates have equal hashes. */
export function templateHash(template: unknown): string {
  const bytes = hash128(stableStringify(template));
  return [...bytes.subarray(0, 10)].map((byte) => alphabet[byte % alphabet.length]).join('');
}

export function newPod(
  owner: KubeObject,
  template: PodTemplate,
  name: { name: string } | { generateName: string },
  labels: Record<string, string> = {},
): Pod {
  const { metadata = {}, spec = {} } = template;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...name,
      ...(owner.metadata.namespace === undefined ? {} : { namespace: owner.metadata.namespace }),
      labels: { ...metadata.labels, ...labels },
      ...(metadata.annotations ? { annotations: metadata.annotations } : {}),
      ownerReferences: [ownerReference(owner)],
    },
    spec,
  };
}

export function isActive(pod: Pod): boolean {
  return !isTerminating(pod) && pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed';
}

export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === 'True' && !isTerminating(pod);
}

/** Milliseconds until the pod has been ready for `minReadySeconds`, and counts as available. Undefined: the pod is not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number | undefined {
  if (!isReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  const sinceMs = Date.parse(readyCondition(pod)?.lastTransitionTime ?? '') || 0;
  return Math.max(0, sinceMs + minReadySeconds * 1000 - nowMs);
}

export function smallest(delays: readonly (number | undefined)[]): number | undefined {
  const positive = delays.filter((delay): delay is number => delay !== undefined && delay > 0);
  return positive.length === 0 ? undefined : Math.min(...positive);
}

/** Sorts pods in the order of their deletion: first pods that are not ready, then young pods before old pods. */
export function deletionOrder(a: Pod, b: Pod): number {
  return Number(isReady(a)) - Number(isReady(b)) || compareText(createdOf(b), createdOf(a));
}

export function podKey(namespace: string, name: string): ObjectKey {
  return { ...podResource, namespace, name };
}

/** Leaves out counts of 0, as Kubernetes does. */
export function positive(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function readyCondition(pod: Pod) {
  return pod.status?.conditions?.find((condition) => condition.type === 'Ready');
}

function createdOf({ metadata }: Pod): string {
  return metadata.creationTimestamp ?? '';
}
