/** Chooses which objects of one resource below one placed object are reported, if there are more than the rules allow. */

export interface AssociatedCandidate {
  readonly key: string;
  readonly failing: boolean;
}

/** Failing objects come first, then the order of keys: the same objects always give the same choice. */
export function chooseMembers(members: Iterable<AssociatedCandidate>, limit: number): Set<string> {
  const sorted = [...members].sort(
    (a, b) => Number(b.failing) - Number(a.failing) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0),
  );
  return new Set(sorted.slice(0, limit).map(({ key }) => key));
}
