/**
 * The bounds of the objects that may leave a space (`spec.delivery` of the Space), and the checks that all nodes share. Each field bounds one thing. An absent field bounds nothing, with
 * one exception: where there are bounds, Secrets are read back only if `upsync` names them.
 */
import { jsonText } from '../object/json.ts';
import type { GroupResource, ObjectKey } from '../object/key.ts';
import type { LabelSelector } from '../object/selector.ts';
import { narrowedSelector } from './selector-bound.ts';

/** Kinds of objects. `*` in `apiGroup` or `resources` means all. The core group is empty. */
export interface ResourceList {
  readonly apiGroup: string;
  readonly resources: readonly string[];
}

export interface DeliveryBounds {
  /** Where: every Location that a placement matches must match this selector too. */
  readonly locationSelector?: LabelSelector | undefined;
  /** Names of namespaces at the clusters. `*` stands for any characters: `shop-*`. */
  readonly namespaces?: readonly string[] | undefined;
  /** Kinds of cluster-scoped objects. Namespaces follow `namespaces`. */
  readonly clusterScoped?: readonly ResourceList[] | undefined;
  /** Kinds that placements may read back (`spec.upsync`). */
  readonly upsync?: readonly ResourceList[] | undefined;
  /** The highest `spec.priority` of a placement. */
  readonly priorityMax?: number | undefined;
}

/** Limit for the JSON of the bounds. Every row of a placement carries them, to every relay on the way. */
const deliveryBytesMax = 16 * 1024;

/** Limit for the lists in the bounds: more patterns or groups than a person reads. `deliveryBytesMax` bounds all of them together. */
export const deliveryListMax = 64;

/** Undefined: the bounds are small enough. `delivery` may come from a user and have wrong fields. */
export function tooLargeDelivery(delivery: object): string | undefined {
  const bytes = Buffer.byteLength(jsonText(delivery));
  if (bytes <= deliveryBytesMax) return undefined;
  return `${bytes} bytes; every placement of the space carries these bounds: use at most ${deliveryBytesMax} bytes, with patterns instead of names`;
}

/** A name of a namespace, or a pattern for names. */
export const isNamespacePattern = /^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$/;

/** The part of the bounds that decides about one object. */
export type ObjectBounds = Pick<DeliveryBounds, 'namespaces' | 'clusterScoped'>;

/** Whether the object may go to clusters. `key` is the key of the object at the cluster. */
export function mayDeliver(bounds: ObjectBounds | undefined, key: ObjectKey): boolean {
  if (!bounds) return true;
  if (key.namespace !== '') return isNamespaceWithin(bounds, key.namespace);
  if (isNamespaceResource(key)) return isNamespaceWithin(bounds, key.name);
  return isClusterScopedWithin(bounds, key);
}

export function isNamespaceWithin({ namespaces }: ObjectBounds, name: string): boolean {
  return namespaces === undefined || namespaces.some((pattern) => matchesPattern(pattern, name));
}

/** Whether objects of this cluster-scoped kind may go to clusters. */
export function isClusterScopedWithin({ clusterScoped }: ObjectBounds, of: GroupResource): boolean {
  return clusterScoped === undefined || clusterScoped.some((list) => listsResource(list, of));
}

export function isNamespaceResource({ group, resource }: GroupResource): boolean {
  return group === '' && resource === 'namespaces';
}

export function listsResource({ apiGroup, resources }: ResourceList, { group, resource }: GroupResource): boolean {
  return (apiGroup === '*' || apiGroup === group) && (resources.includes('*') || resources.includes(resource));
}

/** `*` in the pattern stands for any characters, also none. The time is linear in the length of the name for each part of the pattern. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return pattern === name;
  if (!name.startsWith(head) || !name.endsWith(tail) || name.length < head.length + tail.length) return false;
  let at = head.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - tail.length;
}

/** Returns the selectors of a placement, narrowed to the bounds. `hasExpression`: without selectors, the placement means every Location. */
export function boundedSelectors(
  selectors: readonly LabelSelector[],
  hasExpression: boolean,
  bounds: DeliveryBounds | undefined,
): readonly LabelSelector[] {
  const bound = bounds?.locationSelector;
  if (!bound) return selectors;
  if (selectors.length === 0) return hasExpression ? [bound] : [];
  return selectors.map((selector) => narrowedSelector(selector, bound));
}

export function boundedPriority(priority: number, bounds: DeliveryBounds | undefined): number {
  return Math.min(priority, bounds?.priorityMax ?? priority);
}

/** Names the kinds for messages: `clusterroles.rbac.authorization.k8s.io, persistentvolumes`. */
export function resourcesText(lists: readonly ResourceList[]): string {
  const texts = lists.flatMap(({ apiGroup, resources }) =>
    resources.map((resource) => (apiGroup === '' ? resource : `${resource}.${apiGroup}`)),
  );
  return texts.length === 0 ? 'none' : texts.join(', ');
}
