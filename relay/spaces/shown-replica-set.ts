/**
 * The ReplicaSet that a space shows beside a Deployment whose status is aggregated. helm 3 waits for the ReplicaSet with the Deployment's pod template, and
 * without one it waits until its time-out. So the space has exactly one, with the counts of the aggregate. It is never placed.
 */
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { health } from '../../core/object/health.ts';
import type { KubeObject } from '../../core/object/meta.ts';
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

/** Returns whether the object is such a ReplicaSet. Placements never select it. */
export function isShownReplicaSet({ kind, metadata }: KubeObject): boolean {
  return kind === 'ReplicaSet' && metadata.labels?.[shownLabel] !== undefined;
}

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
}

interface DeploymentSpec {
  readonly replicas?: number;
  readonly minReadySeconds?: number;
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly template?: Template;
}

/** The ReplicaSet of a Deployment, without its status. Another pod template gives another name. */
export function shownReplicaSet(deployment: KubeObject): KubeObject {
  const { replicas = 1, minReadySeconds, selector = {}, template = {} } = (deployment.spec ?? {}) as DeploymentSpec;
  const { name = '', namespace, uid = '' } = deployment.metadata;
  const hash = hex(hash128(stableStringify(template))).slice(0, hashLength);
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  const { apiVersion, kind } = deployment;
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name.slice(0, nameMax - hashLength - 1)}-${hash}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labels, [shownLabel]: 'true' },
      annotations: {
        [shownLabel]: 'Banyan keeps this object for tools that read the status of the Deployment. It is not placed.',
      },
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
