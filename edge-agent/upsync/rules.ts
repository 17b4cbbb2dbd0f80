/** Which objects of the cluster the upsync rules of the placements here match. Fields of an item are ANDed, items are ORed, empty matches nothing. */
import type { UpsyncItem } from '../../core/apiserver/kinds/edge-placement.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { type Labels, matchesSelector } from '../../core/object/selector.ts';
import type { PlacementId } from '../../core/wire/entries.ts';
import { namesResource } from '../observe/resource-rules.ts';

export type UpsyncRules = ReadonlyMap<PlacementId, readonly UpsyncItem[]>;

export interface Taking {
  readonly id: PlacementId;
  /** Center if one of the items that match says so. */
  readonly returnTo: 'Parent' | 'Center';
}

/** The placements that take the object up, in order of id. */
export function takingPlacements(rules: UpsyncRules, key: ObjectKey, labels: Labels): Taking[] {
  const taking: Taking[] = [];
  for (const [id, items] of rules) {
    const matching = items.filter((item) => matches(item, key, labels));
    if (matching.length === 0) continue;
    taking.push({ id, returnTo: matching.some(({ returnTo }) => returnTo === 'Center') ? 'Center' : 'Parent' });
  }
  return taking.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function matches(item: UpsyncItem, key: ObjectKey, labels: Labels): boolean {
  if (!namesResource(item, key)) return false;
  if (item.names && !includes(item.names, key.name)) return false;
  // A rule that asks for namespaces asks for objects that are in one.
  if (item.namespaces && (key.namespace === '' || !includes(item.namespaces, key.namespace))) return false;
  return !item.labelSelectors || item.labelSelectors.some((selector) => matchesSelector(selector, labels));
}

function includes(list: readonly string[], name: string): boolean {
  return list.includes('*') || list.includes(name);
}
