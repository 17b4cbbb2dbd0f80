/** Special steps of a write that no schema can express, for some built-in kinds. */

import type { GroupResource } from '../../object/key.ts';
import type { KubeObject, ObjectMeta } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { Kind } from '../space.ts';
import { prepareServiceUpdate } from './service-type.ts';

export interface KindStrategy {
  /** Changes the object in place. Called before the defaults of built-in kinds are filled in. */
  prepareCreate?(object: KubeObject): void;
  prepareUpdate?(object: KubeObject, old: KubeObject, subresource?: string): void;
  /** Fields of the spec that the steps of a write give after Kubernetes has computed the managed fields. So a writer owns only those that the writer has sent. */
  readonly givenLater?: readonly string[];
}

export function strategyOf(kind: GroupResource): KindStrategy {
  return kind.group === '' ? (coreStrategies.get(kind.resource) ?? noStrategy) : noStrategy;
}

/** The fields of `givenLater` that the object lacks. To Go, an empty text or list is an absent one. */
export function lackedFields(kind: GroupResource, { spec }: KubeObject): readonly string[] {
  const isLacking = (value: unknown) => !value || (Array.isArray(value) && value.length === 0);
  return (strategyOf(kind).givenLater ?? []).filter((name) => !isRecord(spec) || isLacking(spec[name]));
}

/**
 * The object with what its writer may own: without these fields of the spec, and for a new object without the status, which only writes of the status own. It shares
 * its metadata with `object`.
 */
export function withOwnable(kind: Kind, object: KubeObject, lacked: readonly string[], isNew: boolean): KubeObject {
  const owned = { ...object };
  if (isNew && kind.subresources.status) delete owned.status;
  if (lacked.length > 0) {
    const kept = Object.entries(object.spec ?? {}).filter(([name]) => !lacked.includes(name));
    if (kept.length > 0) owned.spec = Object.fromEntries(kept);
    else delete owned.spec;
  }
  return owned;
}

/** True for kinds whose updates must contain a resourceVersion, as in a Kubernetes API server: some built-in kinds, and all custom kinds. */
export function needsResourceVersion(kind: Kind): boolean {
  return kind.custom || versionedUpdates.has(`${kind.group}/${kind.resource}`);
}

/** Kinds of Kubernetes whose metadata no write of the status changes. The same holds for all custom kinds. */
const statusOnly: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io/validatingadmissionpolicies',
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
  'flowcontrol.apiserver.k8s.io/flowschemas',
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations',
  'networking.k8s.io/servicecidrs',
  'storage.k8s.io/volumeattachments',
]);

/** The metadata after a write of the status with the metadata `sent`. In Kubernetes, most kinds take labels and annotations from such a write. */
export function metadataWithStatus(
  kind: Kind,
  sent: ObjectMeta,
  { resourceVersion: _, ...old }: ObjectMeta,
): ObjectMeta {
  const id = `${kind.group}/${kind.resource}`;
  const { managedFields } = sent;
  if (kind.custom || statusOnly.has(id)) return { ...old, ...(managedFields ? { managedFields } : {}) };
  if (id === 'apps/deployments') return withField(sent, 'labels', old.labels);
  return id === '/pods' ? withField(sent, 'ownerReferences', old.ownerReferences) : sent;
}

function withField(meta: ObjectMeta, name: 'labels' | 'ownerReferences', value: unknown): ObjectMeta {
  const { [name]: _, ...others } = meta;
  return value === undefined ? others : { ...others, [name]: value };
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
  'admissionregistration.k8s.io/validatingadmissionpolicies',
  'admissionregistration.k8s.io/validatingadmissionpolicybindings',
  'admissionregistration.k8s.io/validatingwebhookconfigurations',
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
  'coordination.k8s.io/leases',
  'node.k8s.io/runtimeclasses',
  'policy/poddisruptionbudgets',
  'storage.k8s.io/csidrivers',
  'storage.k8s.io/csinodes',
  'storage.k8s.io/csistoragecapacities',
  'storage.k8s.io/volumeattachments',
]);

const noStrategy: KindStrategy = {};

const secrets: KindStrategy = {
  prepareCreate: mergeStringData,
  prepareUpdate: mergeStringData,
};

const namespaces: KindStrategy = {
  givenLater: ['finalizers'],
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

/** The phase of a new object, until somebody reports another one. */
const pending: KindStrategy = {
  prepareCreate(object) {
    object.status = { phase: 'Pending' };
  },
};

const coreStrategies: ReadonlyMap<string, KindStrategy> = new Map<string, KindStrategy>([
  ['persistentvolumeclaims', pending],
  ['persistentvolumes', pending],
  ['pods', { ...pending, givenLater: ['serviceAccount', 'serviceAccountName'] }],
  ['secrets', secrets],
  [
    'services',
    {
      prepareUpdate: prepareServiceUpdate,
      givenLater: ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'],
    },
  ],
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
