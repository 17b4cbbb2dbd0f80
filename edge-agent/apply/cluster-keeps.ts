/**
 * Finds objects that the cluster itself creates and restores: the API server writes its default roles again at each start, and the cluster does not work
 * without its own namespaces.
 */
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';

const rbac = 'rbac.authorization.k8s.io';
/** https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces */
const namespaces: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease']);
/** `namespace/name` of objects that the API server or the controller manager publishes under this name. */
const published: Readonly<Record<string, ReadonlySet<string>>> = {
  ConfigMap: new Set([
    'kube-system/extension-apiserver-authentication',
    'kube-system/kube-apiserver-legacy-service-account-token-tracking',
    'kube-public/cluster-info',
  ]),
  Service: new Set(['default/kubernetes']),
  Endpoints: new Set(['default/kubernetes']),
  EndpointSlice: new Set(['default/kubernetes']),
};
/** The controller manager publishes this ConfigMap in every namespace. */
const rootCertificates = 'kube-root-ca.crt';

/**
 * Labels and annotations by which the API server recognises the objects that it keeps:
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#auto-reconciliation,
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/#maintenance-of-the-mandatory-and-suggested-configuration-objects,
 * kube-aggregator's automanaged APIServices (k8s.io/kube-aggregator, pkg/controllers/autoregister).
 */
const bootstrapLabel = 'kubernetes.io/bootstrapping';
const automanagedLabel = 'kube-aggregator.kubernetes.io/automanaged';
const autoupdateAnnotations: readonly string[] = [
  'rbac.authorization.kubernetes.io/autoupdate',
  'apf.kubernetes.io/autoupdate-spec',
];

/** Returns why the object belongs to the cluster itself. Undefined: it does not. */
export function clusterKeeps(live: KubeObject): string | undefined {
  const { name = '', namespace = '', labels = {}, annotations = {} } = live.metadata;
  const { group } = parseApiVersion(live.apiVersion);
  const isKept =
    labels[bootstrapLabel] !== undefined ||
    labels[automanagedLabel] !== undefined ||
    autoupdateAnnotations.some((annotation) => annotations[annotation] === 'true');
  if (isKept) return 'the API server keeps it';
  if (group === rbac && name.startsWith('system:')) return 'names with system: belong to the cluster itself';
  if (group === 'scheduling.k8s.io' && name.startsWith('system-')) return 'the API server keeps it';
  if (group === '' && live.kind === 'Namespace' && namespaces.has(name))
    return 'it is a namespace of the cluster itself';
  const isPublished =
    published[live.kind]?.has(`${namespace}/${name}`) || (live.kind === 'ConfigMap' && name === rootCertificates);
  return isPublished ? 'the cluster publishes it' : undefined;
}
