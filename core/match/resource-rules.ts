/** Decides which resources a rule of `spec.upsync` or `spec.associated` names. */
import type { GroupResource } from '../object/key.ts';

export interface ResourceRule {
  readonly apiGroup?: string;
  readonly resources?: readonly string[];
}

/** A rule of `spec.associated`: which objects that placed objects own are reported too. */
export interface AssociatedItem {
  apiGroup?: string;
  resources?: string[];
  /** Absent: the default of the kind (core/apiserver/kinds/edge-placement.ts). */
  limit?: number;
  statusSummarizers?: string[];
}

/**
 * Resources that `*` does not include. A rule that wants one of these resources has to name it. Events, leases and endpoints change all the time and say
 * nothing about a placed object. Namespaces and CustomResourceDefinitions are containers: a rule with `*` that includes them would delay everything that is
 * sent down into them. The Secrets of a site leave the site only if somebody wants them.
 */
const onlyByName = new Set([
  '/events',
  'events.k8s.io/events',
  'coordination.k8s.io/leases',
  '/endpoints',
  '/secrets',
  'discovery.k8s.io/endpointslices',
  '/namespaces',
  'apiextensions.k8s.io/customresourcedefinitions',
]);

/** Whether the rule names this resource. A rule without resources names nothing. A rule without `apiGroup` is for all groups. */
export function namesResource({ apiGroup, resources = [] }: ResourceRule, of: GroupResource): boolean {
  if (apiGroup !== undefined && apiGroup !== '*' && apiGroup !== of.group) return false;
  if (resources.includes(of.resource)) return true;
  return resources.includes('*') && !onlyByName.has(`${of.group}/${of.resource}`);
}
