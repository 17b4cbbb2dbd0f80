/**
 * The order in which a Kubernetes API server writes the members of FieldsV1. Items of lists are ordered by their values, so port 80 is before port 443.
 * https://github.com/kubernetes-sigs/structured-merge-diff/blob/master/fieldpath/element.go
 */
import { isNumber, parseJson } from './json.ts';
import { compareText } from './text-order.ts';

/** Sorts the names of the members of one node. Only items of lists (`k:`, `v:`) have another order than their texts. */
export function sortFieldsV1(names: readonly string[]): string[] {
  const sorted = names.toSorted();
  // The members of a node are fields or the items of one list. `.` is before them all.
  if (!isItem(sorted.at(-1))) return sorted;
  const items = sorted.map((name) => ({ name, values: isItem(name) ? valuesOf(name.slice(2)) : [] }));
  return items.sort((a, b) => compareLists(a.values, b.values)).map(({ name }) => name);
}

function isItem(name = ''): boolean {
  return name.startsWith('k:') || name.startsWith('v:');
}

/** The value of an item, or the names and values of its keys. A client may send any text: a text that is no JSON counts as a text. */
function valuesOf(text: string): unknown[] {
  try {
    const value = parseJson(text);
    if (typeof value !== 'object' || value === null) return [value];
    return Object.entries(value)
      .sort(([a], [b]) => compareText(a, b))
      .flat();
  } catch {
    return [text];
  }
}

function compareLists(a: readonly unknown[], b: readonly unknown[]): number {
  for (const [at, value] of a.entries()) {
    const order = at < b.length ? compareValues(value, b[at]) : 1;
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Numbers, texts, booleans, others. The others are no keys in any schema, so they keep the order of their texts. */
function compareValues(a: unknown, b: unknown): number {
  const [rank, other] = [rankOf(a), rankOf(b)];
  if (rank !== other) return rank - other;
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  return rank < 3 ? compareText(String(a), String(b)) : 0;
}

function rankOf(value: unknown): number {
  if (isNumber(value)) return 0;
  const types = ['string', 'boolean'];
  return types.includes(typeof value) ? types.indexOf(typeof value) + 1 : 3;
}
