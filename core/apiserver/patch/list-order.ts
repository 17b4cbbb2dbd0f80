/** The order of a merged list, of which a patch knows some items and the server others. */

export type KeyOf = (item: unknown) => unknown;

/**
 * `items` in a new order: those whose key is in `order` keep that order among themselves, the others that of `live`; the two are
 * interleaved as they stood in `live`. Where that does not say (an item that is new) those of `order` come first.
 */
export function orderItems(
  items: readonly unknown[],
  order: readonly unknown[],
  live: readonly unknown[],
  keyOf: KeyOf,
): unknown[] {
  const inOrder = positions(order, keyOf);
  const inLive = positions(live, keyOf);
  const known = sorted(items, inOrder, keyOf, true);
  const others = sorted(items, inLive, keyOf, false, inOrder);
  const result: unknown[] = [];
  let next = 0;
  for (const item of known) {
    const at = inLive.get(keyOf(item));
    while (next < others.length && isBefore(inLive.get(keyOf(others[next])), at)) result.push(others[next++]);
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

function isBefore(a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && b !== undefined && a < b;
}

/** The first place of each key. */
function positions(items: readonly unknown[], keyOf: KeyOf): Map<unknown, number> {
  const result = new Map<unknown, number>();
  for (const [at, item] of items.entries()) if (!result.has(keyOf(item))) result.set(keyOf(item), at);
  return result;
}

/** Items that are in `members` (or are not), by their place in `by`. */
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
