/**
 * Decides which objects of a space `spec.downsync` of a placement selects. An item selects an object that matches all of its fields. The placement selects an
 * object if at least one item does. `*` means all.
 */
import type { DownsyncItem } from '../../core/apiserver/kinds/edge-placement.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { type Labels, matchesSelector } from '../../core/object/selector.ts';

export interface Candidate {
  readonly key: ObjectKey;
  readonly labels: Labels;
  /** The labels of the object's namespace. Absent for cluster-scoped objects. */
  readonly namespaceLabels?: Labels;
}

/** Returns the items that select the object. If there are none, the placement does not select the object. */
export function selectingItems(items: readonly DownsyncItem[], candidate: Candidate): DownsyncItem[] {
  return items.filter((item) => selects(item, candidate));
}

/** Returns false if the item can't select any object of the resource. */
export function mayIncludeResource(item: DownsyncItem, key: { group: string; resource: string }): boolean {
  return isGroup(item, key.group) && includes(item.resources, key.resource);
}

function selects(item: DownsyncItem, { key, labels, namespaceLabels }: Candidate): boolean {
  if (!mayIncludeResource(item, key)) return false;
  if (item.objectNames && !includes(item.objectNames, key.name)) return false;
  if (item.labelSelectors && !item.labelSelectors.some((selector) => matchesSelector(selector, labels))) return false;
  const asksForNamespace = item.namespaces !== undefined || item.namespaceSelectors !== undefined;
  if (key.namespace === '') return !asksForNamespace;
  if (item.namespaces && !includes(item.namespaces, key.namespace)) return false;
  return !item.namespaceSelectors || item.namespaceSelectors.some((s) => matchesSelector(s, namespaceLabels ?? {}));
}

function isGroup(item: DownsyncItem, group: string): boolean {
  return item.apiGroup === undefined || item.apiGroup === '*' || item.apiGroup === group;
}

/** An absent or empty list of resources selects nothing. */
function includes(list: readonly string[] | undefined, name: string): boolean {
  return list !== undefined && (list.includes('*') || list.includes(name));
}
