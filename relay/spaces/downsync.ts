/**
 * Decides which objects of a space `spec.downsync` of a placement selects. An item selects an object that matches all of its fields, unless the object matches
 * one of its exceptions, or is bookkeeping that the item does not name, or is only shown by the space. The placement selects an object if at least one item does. `*` means all.
 */
import type { DownsyncItem, DownsyncMatch } from '../../core/apiserver/kinds/edge-placement.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { type Labels, matchesSelector } from '../../core/object/selector.ts';
import { type Bookkeeping, bookkeepingOf, namesBookkeeping } from './bookkeeping.ts';
import { isShownReplicaSet } from './shown-replica-set.ts';

export interface Candidate {
  readonly key: ObjectKey;
  readonly labels: Labels;
  /** The labels of the object's namespace. Absent for cluster-scoped objects. */
  readonly namespaceLabels?: Labels;
  /** Present if the object is bookkeeping of the space: names the form in which an item includes the object (bookkeeping.ts). */
  readonly bookkeeping?: Bookkeeping | undefined;
  /** True: the space only shows the object, so no placement ever selects it (shown-replica-set.ts). */
  readonly isShown?: boolean;
}

export function candidateOf(key: ObjectKey, object: KubeObject, namespaceLabels: Labels | undefined): Candidate {
  return {
    key,
    labels: object.metadata.labels ?? {},
    ...(namespaceLabels === undefined ? {} : { namespaceLabels }),
    bookkeeping: bookkeepingOf(key, object),
    isShown: isShownReplicaSet(object),
  };
}

/** Returns the items that select the object. If there are none, the placement does not select the object. */
export function selectingItems(items: readonly DownsyncItem[], candidate: Candidate): DownsyncItem[] {
  return items.filter((item) => selects(item, candidate));
}

/** Returns the exceptions because of which the items do not select the object, such as `spec.downsync[0].except[1]`. */
export function exceptionsFor(items: readonly DownsyncItem[], candidate: Candidate): string[] {
  return items.flatMap((item, index) => {
    const { except = [], ...rest } = item;
    if (except.length === 0 || !selects(rest, candidate)) return [];
    const at = except.findIndex((one) => matchesException(one, candidate));
    return at < 0 ? [] : [`spec.downsync[${index}].except[${at}]`];
  });
}

/** Returns false if the item can't select any object of the resource. */
export function mayIncludeResource(item: DownsyncMatch, key: { group: string; resource: string }): boolean {
  return isGroup(item, key.group) && includes(item.resources, key.resource);
}

function selects(item: DownsyncItem, candidate: Candidate): boolean {
  if (candidate.isShown || (candidate.bookkeeping && !namesBookkeeping(item, candidate.key, candidate.bookkeeping)))
    return false;
  return matches(item, candidate) && !item.except?.some((one) => matchesException(one, candidate));
}

function matchesException(except: DownsyncMatch, candidate: Candidate): boolean {
  return matches({ resources: ['*'], ...except }, candidate);
}

function matches(item: DownsyncMatch, { key, labels, namespaceLabels }: Candidate): boolean {
  if (!mayIncludeResource(item, key)) return false;
  if (item.objectNames && !includes(item.objectNames, key.name)) return false;
  if (item.labelSelectors && !item.labelSelectors.some((selector) => matchesSelector(selector, labels))) return false;
  const asksForNamespace = item.namespaces !== undefined || item.namespaceSelectors !== undefined;
  if (key.namespace === '') return !asksForNamespace;
  if (item.namespaces && !includes(item.namespaces, key.namespace)) return false;
  return !item.namespaceSelectors || item.namespaceSelectors.some((s) => matchesSelector(s, namespaceLabels ?? {}));
}

function isGroup(item: DownsyncMatch, group: string): boolean {
  return item.apiGroup === undefined || item.apiGroup === '*' || item.apiGroup === group;
}

/** An absent or empty list of resources selects nothing. */
function includes(list: readonly string[] | undefined, name: string): boolean {
  return list !== undefined && (list.includes('*') || list.includes(name));
}
