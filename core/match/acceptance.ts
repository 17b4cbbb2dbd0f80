/** `accept` of a site: which sources may bring what to its cluster. The site decides by itself, whatever the nodes above let through. */
import type { GroupResource, ObjectKey } from '../object/key.ts';
import {
  isClusterScopedWithin,
  isNamespaceResource,
  isNamespaceWithin,
  listsResource,
  matchesPattern,
  mayDeliver,
  resourcesText,
} from './delivery-bounds.ts';
import type { AcceptRule } from './delivery-config.ts';
import { namesResource } from './resource-rules.ts';
import type { UpsyncItem } from './upsync-item.ts';

export type Acceptance = readonly AcceptRule[];

/** Whether the site accepts the object from the source. No `accept`: it accepts everything. */
export function accepts(acceptance: Acceptance | undefined, source: string, key: ObjectKey): boolean {
  return acceptance === undefined || acceptance.some((rule) => isFor(rule, source) && allows(rule, key));
}

/**
 * Says for the author of the placement why the site refuses the object. Names only the rules for this source: other rules say who else brings objects to the
 * site.
 */
export function notAcceptedText(
  acceptance: Acceptance,
  path: string,
  source: string,
  { namespace }: ObjectKey,
): string {
  const where = namespace === '' ? 'this cluster-scoped object' : `this object in namespace ${namespace}`;
  return refusalText(acceptance, path, source, where);
}

/** A person looks at a few, and repairs the cause of all. */
const namedMax = 3;

/** The same for what the site rules out of the rules of `spec.upsync`. `parts`: see `ruledOut`. */
export function ruledOutText(acceptance: Acceptance, path: string, source: string, parts: readonly string[]): string {
  const more = parts.length > namedMax ? [`${parts.length - namedMax} more`] : [];
  const what = `that rules of upsync take ${[...parts.slice(0, namedMax), ...more].join(', ')}`;
  return refusalText(acceptance, path, source, what, 'for');
}

function refusalText(acceptance: Acceptance, path: string, source: string, what: string, relation = 'from'): string {
  const rules = acceptance.flatMap((rule, i) => (isFor(rule, source) ? [`accept[${i}] allows ${ruleText(rule)}`] : []));
  const why = rules.length === 0 ? 'none of its rules in accept names this source' : rules.join('; ');
  return `the site ${path} does not accept ${what} ${relation} ${source}: ${why}. Those who run the site can allow it there (accept of its agent)`;
}

/** A kind that the cluster serves. */
export interface ServedKind extends GroupResource {
  readonly namespaced: boolean;
}

/**
 * The parts of a rule of `spec.upsync` that the site rules out: the kinds and namespaces from which it never accepts anything of this source, such as
 * `configmaps in namespace office`. A rule that it only narrows is not listed, and neither is a kind that the cluster does not serve.
 */
export function ruledOut(
  acceptance: Acceptance | undefined,
  source: string,
  { resources = [], namespaces, names = ['*'], ...item }: UpsyncItem,
  served: readonly ServedKind[],
): string[] {
  const rules = acceptance?.filter((rule) => isFor(rule, source));
  if (!rules) return [];
  return resources.flatMap((resource) => {
    const kinds = served.filter((one) => namesResource({ ...item, resources: [resource] }, one));
    const what = [resource, ...(item.apiGroup && item.apiGroup !== '*' ? [item.apiGroup] : [])].join('.');
    const inside = rules.filter((rule) => kinds.some((kind) => kind.namespaced && allowsInside(rule, kind)));
    if (!namespaces) {
      const isOpen =
        inside.some((rule) => rule.namespaces.length > 0) ||
        kinds.some((kind) => !kind.namespaced && rules.some((rule) => mayBringOutside(rule, kind, names)));
      return kinds.length === 0 || isOpen ? [] : [what];
    }
    // A rule with namespaces takes nothing that is in none.
    if (!kinds.some(({ namespaced }) => namespaced)) return [];
    if (namespaces.includes('*')) return inside.some((rule) => rule.namespaces.length > 0) ? [] : [what];
    const refused = namespaces.filter((name) => !inside.some((rule) => isNamespaceWithin(rule, name)));
    return refused.map((name) => `${what} in namespace ${name}`);
  });
}

/** Whether the rule lets its source bring a cluster-scoped object of this kind with one of the names. */
function mayBringOutside(rule: AcceptRule, kind: GroupResource, names: readonly string[]): boolean {
  if (!isNamespaceResource(kind)) return isClusterScopedWithin(rule, kind);
  return names.includes('*') ? rule.namespaces.length > 0 : names.some((name) => isNamespaceWithin(rule, name));
}

function isFor({ source: pattern }: AcceptRule, source: string): boolean {
  return matchesPattern(pattern, source);
}

function allows(rule: AcceptRule, key: ObjectKey): boolean {
  return mayDeliver(rule, key) && (key.namespace === '' || allowsInside(rule, key));
}

/** Whether the rule is for this kind, in namespaces. */
function allowsInside({ resources }: AcceptRule, kind: GroupResource): boolean {
  return resources === undefined || resources.some((list) => listsResource(list, kind));
}

function ruleText({ namespaces, clusterScoped, resources }: AcceptRule): string {
  const inside = resources === undefined ? 'all kinds' : resourcesText(resources);
  const into = namespaces.length === 0 ? 'no namespaces' : `${inside} in namespaces ${namespaces.join(', ')}`;
  return `${into}, and of cluster-scoped kinds ${resourcesText(clusterScoped)}`;
}
