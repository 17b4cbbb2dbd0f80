/** `accept` of a site: which sources may bring what to its cluster. The site decides by itself, whatever the nodes above let through. */
import type { ObjectKey } from '../object/key.ts';
import { listsResource, matchesPattern, mayDeliver, resourcesText } from './delivery-bounds.ts';
import type { AcceptRule } from './delivery-config.ts';

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
  const rules = acceptance.flatMap((rule, i) => (isFor(rule, source) ? [`accept[${i}] allows ${ruleText(rule)}`] : []));
  const what = rules.length === 0 ? 'none of its rules in accept names this source' : rules.join('; ');
  const where = namespace === '' ? 'this cluster-scoped object' : `this object in namespace ${namespace}`;
  return `the site ${path} does not accept ${where} from ${source}: ${what}. Those who run the site can allow it there (accept of its agent)`;
}

function isFor({ source: pattern }: AcceptRule, source: string): boolean {
  return matchesPattern(pattern, source);
}

function allows(rule: AcceptRule, key: ObjectKey): boolean {
  if (!mayDeliver(rule, key)) return false;
  return (
    key.namespace === '' || rule.resources === undefined || rule.resources.some((list) => listsResource(list, key))
  );
}

function ruleText({ namespaces, clusterScoped, resources }: AcceptRule): string {
  const inside = resources === undefined ? 'all kinds' : resourcesText(resources);
  const into = namespaces.length === 0 ? 'no namespaces' : `${inside} in namespaces ${namespaces.join(', ')}`;
  return `${into}, and of cluster-scoped kinds ${resourcesText(clusterScoped)}`;
}
