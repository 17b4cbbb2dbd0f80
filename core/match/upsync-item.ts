/** Decides whether an item of a placement's `spec.upsync` matches an object of a cluster. All fields must match. An item without resources matches nothing. */
import type { ObjectKey } from '../object/key.ts';
import { type LabelSelector, type Labels, matchesSelector } from '../object/selector.ts';
import { namesResource } from './resource-rules.ts';

export interface UpsyncItem {
  apiGroup?: string;
  resources?: string[];
  namespaces?: string[];
  names?: string[];
  labelSelectors?: LabelSelector[];
  /** Default: Parent. */
  returnTo?: 'Parent' | 'Center';
  statusSummarizers?: string[];
}

export function matchesUpsync(item: UpsyncItem, key: ObjectKey, labels: Labels): boolean {
  if (!namesResource(item, key)) return false;
  if (item.names && !includes(item.names, key.name)) return false;
  // A rule with namespaces matches only objects that are in a namespace.
  if (item.namespaces && (key.namespace === '' || !includes(item.namespaces, key.namespace))) return false;
  return !item.labelSelectors || item.labelSelectors.some((selector) => matchesSelector(selector, labels));
}

function includes(list: readonly string[], name: string): boolean {
  return list.includes('*') || list.includes(name);
}
