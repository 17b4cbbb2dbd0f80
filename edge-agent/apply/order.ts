/** The order in which the agent applies and removes waiting objects. Objects that others need are applied first and removed last. */
import { type ObjectKey, parseKey } from '../../core/object/key.ts';

const namespaces = '/namespaces';
const definitions = 'apiextensions.k8s.io/customresourcedefinitions';

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
  '/pods': 7,
  'batch/jobs': 7,
  'batch/cronjobs': 7,
  'networking.k8s.io/ingresses': 8,
  'policy/poddisruptionbudgets': 8,
  'autoscaling/horizontalpodautoscalers': 8,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': 9,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': 9,
};
const phaseOfOthers = 6;

export function phaseOf(key: string): number {
  const { group, resource } = parseKey(key);
  return phases[`${group}/${resource}`] ?? phaseOfOthers;
}

/** The key of the object's namespace. Undefined for cluster-scoped objects. */
export function namespaceKeyOf(key: ObjectKey): string | undefined {
  return key.namespace === '' ? undefined : `/namespaces//${key.namespace}`;
}

/** The key of the CustomResourceDefinition of the object's kind, if there is one. */
export function definitionKeyOf(key: ObjectKey): string | undefined {
  return key.group === '' ? undefined : `${definitions}//${key.resource}.${key.group}`;
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
