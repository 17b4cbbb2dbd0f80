/**
 * The order in which the agent applies and removes objects. Objects that others need are applied first and removed last. Objects that can refuse others are
 * applied last and removed first.
 *
 * A phase is only a preference: the queue works on several objects at once, and objects that wait are not in the queue. Two rules are strict:
 * `interceptor-waits.ts` for the objects that can refuse others, and `removal-order.ts` for the stages of a removal.
 */
import { type ObjectKey, parseKey } from '../../core/object/key.ts';

const namespaces = '/namespaces';
const definitions = 'apiextensions.k8s.io/customresourcedefinitions';
const apiServices = 'apiregistration.k8s.io/apiservices';

/**
 * Phases: objects with a smaller number are applied first. Kinds that this table does not have come after the kinds that workloads refer to, and before the
 * workloads.
 */
const phases: Readonly<Record<string, number>> = {
  [namespaces]: 0,
  [definitions]: 1,
  'scheduling.k8s.io/priorityclasses': 2,
  'storage.k8s.io/storageclasses': 2,
  'node.k8s.io/runtimeclasses': 2,
  '/resourcequotas': 2,
  '/limitranges': 2,
  '/serviceaccounts': 3,
  '/secrets': 3,
  '/configmaps': 3,
  '/persistentvolumes': 3,
  '/persistentvolumeclaims': 4,
  'rbac.authorization.k8s.io/clusterroles': 4,
  'rbac.authorization.k8s.io/roles': 4,
  'rbac.authorization.k8s.io/clusterrolebindings': 5,
  'rbac.authorization.k8s.io/rolebindings': 5,
  '/services': 5,
  'apps/daemonsets': 7,
  'apps/statefulsets': 7,
  'apps/deployments': 7,
  'apps/replicasets': 7,
  '/replicationcontrollers': 7,
  '/pods': 7,
  'batch/jobs': 7,
  'batch/cronjobs': 7,
  'networking.k8s.io/ingresses': 8,
  'policy/poddisruptionbudgets': 8,
  'autoscaling/horizontalpodautoscalers': 8,
  'admissionregistration.k8s.io/validatingadmissionpolicies': 8,
  'admissionregistration.k8s.io/mutatingadmissionpolicies': 8,
  [apiServices]: 9,
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': 10,
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': 10,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': 11,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': 11,
};
const phaseOfOthers = 6;
const phaseOfWorkloads = 7;
/** An object of this phase or a later one is an interceptor: it can make the API server refuse requests for other objects. */
const phaseOfInterceptors = 9;

export function phaseOf(key: string): number {
  const { group, resource } = parseKey(key);
  return phases[`${group}/${resource}`] ?? phaseOfOthers;
}

/**
 * Whether the object can make the API server refuse requests for other objects: a webhook configuration, the binding of an admission policy, an APIService.
 * A CustomResourceDefinition with a conversion webhook is none: it affects only objects of its own kind, and these objects can't exist without it.
 */
export function isInterceptor(key: string): boolean {
  return phaseOf(key) >= phaseOfInterceptors;
}

/** Whether the object may run pods: a kind of Kubernetes, or a custom kind that is made like one. Jobs end, so no Job serves requests. */
export function mayBeWorkload(key: string): boolean {
  const phase = phaseOf(key);
  return (phase === phaseOfWorkloads && !key.startsWith('batch/')) || (phase === phaseOfOthers && isCustom(key));
}

/**
 * The API groups of Kubernetes itself that have a dot. Kubernetes reserves `.k8s.io`, but several definitions use it too (`gateway.networking.k8s.io`), so
 * the end of a name does not decide. https://kubernetes.io/docs/reference/generated/kubernetes-api/
 */
const groupsOfKubernetes: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  'storagemigration.k8s.io',
]);

/** Whether the kind of the object comes from a CustomResourceDefinition or from an APIService. Only such groups must have a dot. */
export function isCustom(key: string): boolean {
  const group = key.slice(0, key.indexOf('/'));
  return group.includes('.') && !groupsOfKubernetes.has(group);
}

/**
 * The stages of a removal. All objects of a stage go at once, and the next stage begins when they are gone (removal-order.ts).
 *
 * - `interceptors`: after their workload is gone, they would refuse every other removal.
 * - `served`: custom objects, and objects with finalizers of controllers. They need the controllers that serve them.
 * - `apiServices`: after the objects that are reachable through them, and before the workloads behind them.
 * - `workloads`: also everything that phases apply together with workloads or later.
 * - `support`: what workloads use: configuration, RBAC, Services, storage.
 */
export const removalStages = {
  interceptors: 0,
  served: 1,
  apiServices: 2,
  workloads: 3,
  support: 4,
  definitions: 5,
  namespaces: 6,
} as const;

/** `hasFinalizers`: whether the object has finalizers of controllers (core/object/finalizers.ts). */
export function removalStageOf(key: string, hasFinalizers: boolean): number {
  if (isNamespaceKey(key)) return removalStages.namespaces;
  if (isDefinitionKey(key)) return removalStages.definitions;
  if (key.startsWith(`${apiServices}/`)) return removalStages.apiServices;
  if (isInterceptor(key)) return removalStages.interceptors;
  if (isCustom(key) || hasFinalizers) return removalStages.served;
  return phaseOf(key) >= phaseOfOthers ? removalStages.workloads : removalStages.support;
}

/** The key of the object's namespace. Undefined for cluster-scoped objects. */
export function namespaceKeyOf(key: ObjectKey): string | undefined {
  return key.namespace === '' ? undefined : `/namespaces//${key.namespace}`;
}

/** The key of the CustomResourceDefinition of the object's kind, if there is one. */
export function definitionKeyOf(key: ObjectKey): string | undefined {
  return key.group === '' ? undefined : `${definitions}//${key.resource}.${key.group}`;
}

/** The API group that the APIService of this key serves. Undefined: the key is none of an APIService. The name has version and group: `v1.tills.example.com`. */
export function groupServedBy(key: string): string | undefined {
  const { group, resource, name } = parseKey(key);
  return `${group}/${resource}` === apiServices ? name.slice(name.indexOf('.') + 1) : undefined;
}

export function isNamespaceKey(key: string): boolean {
  return key.startsWith(`${namespaces}/`);
}

export function isDefinitionKey(key: string): boolean {
  return key.startsWith(`${definitions}/`);
}

/** Whether the removal of this object also deletes objects of others. */
export function isContainer(key: string): boolean {
  return isNamespaceKey(key) || isDefinitionKey(key);
}
