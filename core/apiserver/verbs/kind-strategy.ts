/** Special steps of a write that no schema can express, for two built-in kinds: Secrets and Namespaces. */

import type { GroupResource } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { Kind } from '../space.ts';

export interface KindStrategy {
  /** Changes the object in place. Called after defaults are filled in. */
  prepareCreate?(object: KubeObject): void;
  prepareUpdate?(object: KubeObject, old: KubeObject, subresource?: string): void;
}

export function strategyOf(kind: GroupResource): KindStrategy {
  return kind.group === '' ? (coreStrategies.get(kind.resource) ?? noStrategy) : noStrategy;
}

/** True for kinds whose updates must contain a resourceVersion, as in a Kubernetes API server: some built-in kinds, and all custom kinds. */
export function needsResourceVersion(kind: Kind): boolean {
  return kind.custom || versionedUpdates.has(`${kind.group}/${kind.resource}`);
}

export function isNamespace(kind: GroupResource): boolean {
  return kind.group === '' && kind.resource === 'namespaces';
}

export const namespaceFinalizer = 'kubernetes';
const namespaceNameLabel = 'kubernetes.io/metadata.name';

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: string; conditions?: unknown[] };
}

const versionedUpdates: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io/mutatingwebhookconfigurations',
  'admissionregistration.k8s.io/validatingwebhookconfigurations',
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
  'coordination.k8s.io/leases',
  'discovery.k8s.io/endpointslices',
  'node.k8s.io/runtimeclasses',
  'policy/poddisruptionbudgets',
  'storage.k8s.io/csidrivers',
  'storage.k8s.io/csinodes',
  'storage.k8s.io/volumeattachments',
]);

const noStrategy: KindStrategy = {};

const secrets: KindStrategy = {
  prepareCreate: mergeStringData,
  prepareUpdate: mergeStringData,
};

const namespaces: KindStrategy = {
  prepareCreate(object) {
    const namespace = object as Namespace;
    const finalizers = namespace.spec?.finalizers ?? [];
    if (!finalizers.includes(namespaceFinalizer)) {
      namespace.spec = { ...namespace.spec, finalizers: [...finalizers, namespaceFinalizer] };
    }
    namespace.status = { phase: 'Active' };
    labelWithName(namespace);
  },
  prepareUpdate(object, old, subresource) {
    const namespace = object as Namespace;
    const finalizers = (old as Namespace).spec?.finalizers;
    if (subresource !== 'finalize') namespace.spec = { ...namespace.spec, ...(finalizers ? { finalizers } : {}) };
    labelWithName(namespace);
  },
};

const coreStrategies: ReadonlyMap<string, KindStrategy> = new Map([
  ['secrets', secrets],
  ['namespaces', namespaces],
]);

/** Moves `stringData`, which exists only in requests, into `data`. Its values replace values in `data` that have the same key. */
function mergeStringData(secret: KubeObject): void {
  const { stringData } = secret;
  if (stringData === undefined || stringData === null) delete secret.stringData;
  // If the value is not a map of texts, validation refuses it.
  if (!isRecord(stringData) || !Object.values(stringData).every((value) => typeof value === 'string')) return;
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString('base64'),
  ]);
  if (encoded.length > 0)
    secret.data = { ...(isRecord(secret.data) ? secret.data : {}), ...Object.fromEntries(encoded) };
  delete secret.stringData;
}

/** Sets the label with the name at each write. Selectors that select namespaces by name need this label, so users must not remove it. */
function labelWithName(namespace: Namespace): void {
  namespace.metadata.labels = { ...namespace.metadata.labels, [namespaceNameLabel]: namespace.metadata.name! };
}
