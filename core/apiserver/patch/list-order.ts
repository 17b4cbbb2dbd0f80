/** Finds the order of a merged list. The patch contains the order of some items, and the object on the server contains the order of others. */

export type KeyOf = (item: unknown) => unknown;

/**
 * Returns `items` in a new order. Items whose key is in `order` have the order of `order`. The other items have the order of `live`. Both groups are mixed
 * as in `live`. If `live` does not have an item, the items in `order` come first.
 */
export function orderItems(
  items: readonly unknown[],
  order: readonly unknown[],
  live: readonly unknown[],
  keyOf: KeyOf,
): unknown[] {
  const inOrder = positions(order, keyOf);
  const inLive = positions(live, keyOf);
  const ordered = sorted(items, inOrder, keyOf, true);
  const others = sorted(items, inLive, keyOf, false, inOrder);
  const result: unknown[] = [];
  let next = 0;
  for (const item of ordered) {
    const at = inLive.get(keyOf(item));
    while (next < others.length && isBefore(inLive.get(keyOf(others[next])), at)) result.push(others[next++]);
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

function isBefore(a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && b !== undefined && a < b;
}

/** The first position of each key. */
function positions(items: readonly unknown[], keyOf: KeyOf): Map<unknown, number> {
  const result = new Map<unknown, number>();
  for (const [at, item] of items.entries()) if (!result.has(keyOf(item))) result.set(keyOf(item), at);
  return result;
}

/** The items whose key is in `members` (or is not, if `isMember` is false), sorted by their position in `by`. */
function sorted(
  items: readonly unknown[],
  by: ReadonlyMap<unknown, number>,
  keyOf: KeyOf,
  isMember: boolean,
  members: ReadonlyMap<unknown, number> = by,
): unknown[] {
  return items
    .filter((item) => members.has(keyOf(item)) === isMember)
    .sort((a, b) => (by.get(keyOf(a)) ?? 0) - (by.get(keyOf(b)) ?? 0));
}
