/** Which resources a rule of `spec.upsync` or `spec.associated` names. */
import type { GroupResource } from '../object/key.ts';

export interface ResourceRule {
  readonly apiGroup?: string;
  readonly resources?: readonly string[];
}

/** A rule about objects that placed objects own: which of them report their state too. */
export interface AssociatedItem {
  apiGroup?: string;
  resources?: string[];
  /** Absent: the default of the kind (core/apiserver/kinds/edge-placement.ts). */
  limit?: number;
  statusSummarizers?: string[];
}

/**
 * Resources that `*` does not include. Some of them change all the time and tell nothing about an object. The others are containers, which would hold up
 * everything that is sent down into them. A rule that wants one of these has to name it.
 */
const onlyByName = new Set([
  '/events',
  'events.k8s.io/events',
  'coordination.k8s.io/leases',
  '/endpoints',
  'discovery.k8s.io/endpointslices',
  '/namespaces',
  'apiextensions.k8s.io/customresourcedefinitions',
]);

/** An empty or absent list of resources names nothing; an absent group is any. */
export function namesResource({ apiGroup, resources = [] }: ResourceRule, of: GroupResource): boolean {
  if (apiGroup !== undefined && apiGroup !== '*' && apiGroup !== of.group) return false;
  if (resources.includes(of.resource)) return true;
  return resources.includes('*') && !onlyByName.has(`${of.group}/${of.resource}`);
}
