/**
 * The ReplicaSets that a space shows beside a Deployment whose status is aggregated. helm 3 waits for the ReplicaSet with the Deployment's pod template, and
 * without one it waits until its time-out. So the space has one, with the counts of the aggregate. `kubectl rollout history` and `undo` read the former ones:
 * these have no replicas, as at a cluster. None of them is ever placed.
 */
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { health } from '../../core/object/health.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { isRecord } from '../../core/runtime/is-record.ts';
import { hex } from '../../core/store/bytes.ts';

export const shownResource = { group: 'apps', resource: 'replicasets' } as const;
export const shownFor = { group: 'apps', resource: 'deployments' } as const;

/** Marks the ReplicaSet. Selection looks for this label. */
const shownLabel = 'edge.banyan.io/shown';
const hashLabel = 'pod-template-hash';
/** Digits of the hash in the name, as many as Kubernetes uses. */
const hashLength = 10;
/** Limit of Kubernetes for the name of an object. */
const nameMax = 253;
/** Limit for the former ReplicaSets of a Deployment. Each has a whole pod template. */
const historyMax = 10;
const revisionAnnotation = 'deployment.kubernetes.io/revision';
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** Returns whether the object is such a ReplicaSet. Placements never select it. */
export function isShownReplicaSet({ kind, metadata }: KubeObject): boolean {
  return kind === 'ReplicaSet' && metadata.labels?.[shownLabel] !== undefined;
}

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
}

interface DeploymentSpec {
  readonly revisionHistoryLimit?: number;
  readonly replicas?: number;
  readonly minReadySeconds?: number;
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly template?: Template;
}

/** The ReplicaSet of a Deployment, without its status. Another pod template gives another name. `revision`: the number of the pod template. */
export function shownReplicaSet(deployment: KubeObject, revision: number): KubeObject {
  const { replicas = 1, minReadySeconds, selector = {}, template = {} } = (deployment.spec ?? {}) as DeploymentSpec;
  const { name = '', namespace, uid = '' } = deployment.metadata;
  const shown = shownName(deployment);
  const hash = shown.slice(-hashLength);
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  const { apiVersion, kind } = deployment;
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: shown,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labels, [shownLabel]: 'true' },
      annotations: { ...copiedAnnotations(deployment), [revisionAnnotation]: `${revision}` },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      replicas,
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

/** The name of the ReplicaSet for the present pod template. */
export function shownName({ spec, metadata }: KubeObject): string {
  const { template = {} } = (spec ?? {}) as DeploymentSpec;
  return `${(metadata.name ?? '').slice(0, nameMax - hashLength - 1)}-${hashOf(template)}`;
}

/** The number of former ReplicaSets that the space keeps. Kubernetes has the same default. */
export function formerMax({ spec }: KubeObject): number {
  const { revisionHistoryLimit = historyMax } = (spec ?? {}) as DeploymentSpec;
  return Math.min(Math.max(revisionHistoryLimit, 0), historyMax);
}

/** The revision of a ReplicaSet. 0: there is none. */
export function revisionOf(replicaSet: KubeObject | undefined): number {
  const revision = Number(replicaSet?.metadata.annotations?.[revisionAnnotation] ?? 0);
  return Number.isSafeInteger(revision) ? revision : 0;
}

/** The form of a ReplicaSet whose pod template is no longer the present one. */
export function formerReplicaSet(replicaSet: KubeObject): KubeObject {
  return { ...replicaSet, spec: { ...(replicaSet.spec as object), replicas: 0 } };
}

/** The status of such a ReplicaSet. */
export function formerReplicaSetStatus({ metadata }: KubeObject): object {
  return { replicas: 0, observedGeneration: metadata.generation ?? 0 };
}

/**
 * The annotations of the Deployment that its ReplicaSet has too. `kubectl rollout undo` gives the Deployment the annotations of the ReplicaSet.
 * https://github.com/kubernetes/kubernetes/blob/master/pkg/controller/deployment/util/deployment_util.go leaves out the same ones.
 */
function copiedAnnotations({ metadata }: KubeObject): Readonly<Record<string, string>> {
  const all = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(all.filter(([name]) => name !== lastAppliedAnnotation && name !== revisionAnnotation));
}

/** Templates that only differ in empty values have one hash: clients in Go leave out some of these values, and write others that nobody wrote. */
function hashOf(template: Template): string {
  return hex(hash128(stableStringify(withoutEmpty(template)))).slice(0, hashLength);
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).map(([name, field]) => [name, withoutEmpty(field)] as const);
  return Object.fromEntries(fields.filter(([, field]) => !isEmpty(field)));
}

function isEmpty(value: unknown): boolean {
  return !value || (typeof value === 'object' && Object.keys(value).length === 0);
}

/**
 * The status of the ReplicaSet. helm 3 takes a Deployment as ready while `maxUnavailable` pods are missing, but never while its ReplicaSet has not observed its
 * generation. So the ReplicaSet observes its generation when the Deployment is ready.
 */
export function shownReplicaSetStatus(deployment: KubeObject, generation: number): object {
  const { replicas, updatedReplicas, readyReplicas, availableReplicas } = (deployment.status ?? {}) as Record<
    string,
    number | undefined
  >;
  const isReady = health(deployment).state === 'Current';
  return {
    replicas: replicas ?? 0,
    fullyLabeledReplicas: updatedReplicas ?? 0,
    readyReplicas: readyReplicas ?? 0,
    availableReplicas: availableReplicas ?? 0,
    ...(isReady ? { observedGeneration: generation } : {}),
  };
}
