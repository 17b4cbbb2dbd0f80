/**
 * Narrows items of `spec.upsync` to the bounds of their space. The result has only literal names and `*`, so that agents of every version follow it.
 *
 * An item without `namespaces` takes cluster-scoped objects too. It may do so for kinds that `clusterScoped` names. For other kinds, the item has to say in
 * which namespaces it looks.
 */
import { equalJson } from '../object/json-value.ts';
import { type DeliveryBounds, isClusterScopedWithin, matchesPattern, type ResourceList } from './delivery-bounds.ts';
import type { UpsyncItem } from './upsync-item.ts';

const everyKind: readonly ResourceList[] = [{ apiGroup: '*', resources: ['*'] }];
const secrets = 'secrets';

/** Returns the items, as far as they are within the bounds. */
export function boundedUpsync(items: readonly UpsyncItem[], bounds: DeliveryBounds | undefined): readonly UpsyncItem[] {
  if (!bounds) return items;
  return items.flatMap((item) => withinKinds(item, bounds)).flatMap((item) => withinNamespaces(item, bounds));
}

/** Returns the field of the item that asks for more than the bounds allow. Undefined: the item is within the bounds. */
export function upsyncBeyond(item: UpsyncItem, bounds: DeliveryBounds): 'resources' | 'namespaces' | undefined {
  if (!equalJson(withinKinds(item, bounds), [item])) return 'resources';
  return equalJson(withinNamespaces(item, bounds), [item]) ? undefined : 'namespaces';
}

function withinKinds(item: UpsyncItem, { upsync = everyKind }: DeliveryBounds): UpsyncItem[] {
  const { resources = [] } = item;
  if (resources.every((resource) => upsync.some((list) => covers(list, item.apiGroup, resource)))) return [item];
  return upsync.flatMap((list) => {
    const apiGroup = commonGroup(item.apiGroup ?? '*', list.apiGroup);
    const common = commonResources(resources, list.resources);
    return apiGroup === undefined || common.length === 0 ? [] : [{ ...item, apiGroup, resources: common }];
  });
}

/** Whether the list has this resource in all groups that the item means. `*` never includes Secrets. */
function covers({ apiGroup, resources }: ResourceList, group = '*', resource: string): boolean {
  if (apiGroup !== '*' && apiGroup !== group) return false;
  return resources.includes(resource) || (resources.includes('*') && resource !== secrets);
}

function commonGroup(a: string, b: string): string | undefined {
  if (a === '*') return b;
  return b === '*' || a === b ? a : undefined;
}

function commonResources(asked: readonly string[], allowed: readonly string[]): string[] {
  const isAllowed = (resource: string) => allowed.includes(resource) || (allowed.includes('*') && resource !== secrets);
  const named = asked.filter(isAllowed);
  if (!asked.includes('*') || named.includes('*')) return named;
  return [...new Set([...named, ...allowed.filter((resource) => resource !== secrets)])];
}

function withinNamespaces(item: UpsyncItem, bounds: DeliveryBounds): UpsyncItem[] {
  const { namespaces: patterns = ['*'], clusterScoped } = bounds;
  const { namespaces, resources = [], apiGroup } = item;
  const isEverywhere = patterns.includes('*');
  if (namespaces) {
    const common = namespaces.flatMap((name) => {
      if (name === '*') return isEverywhere ? ['*'] : literal(patterns);
      return patterns.some((pattern) => matchesPattern(pattern, name)) ? [name] : [];
    });
    return common.length === 0 && namespaces.length > 0 ? [] : [{ ...item, namespaces: common }];
  }
  if (isEverywhere && clusterScoped === undefined) return [item];
  const isCluster = (resource: string) =>
    resource !== '*' &&
    clusterScoped !== undefined &&
    isClusterScopedWithin(bounds, { group: apiGroup ?? '*', resource });
  const cluster = resources.filter(isCluster);
  if (cluster.length === resources.length) return [item];
  const rest = resources.filter((resource) => !isCluster(resource));
  const into = isEverywhere ? ['*'] : literal(patterns);
  return [
    ...(cluster.length > 0 ? [{ ...item, resources: cluster }] : []),
    ...(into.length > 0 ? [{ ...item, resources: rest, namespaces: into }] : []),
  ];
}

function literal(patterns: readonly string[]): string[] {
  return patterns.filter((pattern) => !pattern.includes('*'));
}
