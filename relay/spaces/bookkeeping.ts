/**
 * Objects that a space or a client keeps for itself: the releases of helm, what every namespace gets from its cluster, and what controllers make. An item of
 * `spec.downsync` leaves them out unless it names their resource or their name, so `*` does not include them (decision 0050). Each edge cluster has its own.
 */
import type { DownsyncItem } from '../../core/apiserver/kinds/edge-placement.ts';
import { isPublished } from '../../core/apiserver/lifecycle/published-objects.ts';
import type { GroupResource, ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';

export type Bookkeeping = 'by name' | 'by resource';

type Check = (object: KubeObject) => boolean;

const always: Check = () => true;
const named =
  (name: string): Check =>
  ({ metadata }) =>
    metadata.name === name;
const releaseType = 'helm.sh/release.v1';
const tokenType = 'kubernetes.io/service-account-token';

const checks: Readonly<Record<string, readonly Check[]>> = {
  '/secrets': [
    ({ type }) => type === releaseType,
    // The token of the ServiceAccount that every namespace has. A workload may bring a token Secret for a ServiceAccount of its own.
    ({ type, metadata }) =>
      type === tokenType && metadata.annotations?.['kubernetes.io/service-account.name'] === 'default',
  ],
  '/configmaps': [
    // A release of helm that keeps its releases in ConfigMaps (HELM_DRIVER=configmap).
    ({ metadata }) => metadata.labels?.owner === 'helm' && (metadata.name ?? '').startsWith('sh.helm.release.v1.'),
  ],
  '/serviceaccounts': [named('default')],
  '/endpoints': [isMadeByController],
  'discovery.k8s.io/endpointslices': [isMadeByController],
  'coordination.k8s.io/leases': [always],
};

/** Controllers of these names make endpoints from Services. Other values of the label are names that people give to slices of their own. */
const endpointControllers = new Set([
  'endpoint-controller',
  'endpointslice-controller.k8s.io',
  'endpointslicemirroring-controller.k8s.io',
]);

function isMadeByController({
  metadata: { labels = {}, annotations = {}, ownerReferences = [] },
}: KubeObject): boolean {
  return (
    endpointControllers.has(labels['endpointslice.kubernetes.io/managed-by'] ?? '') ||
    endpointControllers.has(labels['endpoints.kubernetes.io/managed-by'] ?? '') ||
    annotations['endpoints.kubernetes.io/last-change-trigger-time'] !== undefined ||
    ownerReferences.some(({ controller }) => controller === true)
  );
}

/**
 * How an item of `spec.downsync` includes the object: by the name of the object alone, or also by the name of the resource. Undefined: the object is no
 * bookkeeping. The API server of each edge cluster publishes objects of the same names, so the name of a resource does not include the space's.
 */
export function bookkeepingOf(of: GroupResource, object: KubeObject): Bookkeeping | undefined {
  if (isPublished(of, object)) return 'by name';
  return checks[`${of.group}/${of.resource}`]?.some((check) => check(object)) ? 'by resource' : undefined;
}

/** Whether all objects of the resource are bookkeeping. */
export function isBookkeepingResource({ group, resource }: GroupResource): boolean {
  return checks[`${group}/${resource}`]?.includes(always) ?? false;
}

/** Whether the item names what it must name in order to include the bookkeeping. */
export function namesBookkeeping(
  { resources = [], objectNames = [] }: DownsyncItem,
  key: ObjectKey,
  how: Bookkeeping,
): boolean {
  return objectNames.includes(key.name) || (how === 'by resource' && resources.includes(key.resource));
}
