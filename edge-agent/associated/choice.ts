/** Chooses the objects to report, of one resource and below one placed object, if there are more objects than the rules allow. */

export interface AssociatedCandidate {
  readonly key: string;
  readonly failing: boolean;
}

/** Prefers failing objects, then smaller keys. The same objects always give the same choice. */
export function chooseMembers(members: Iterable<AssociatedCandidate>, limit: number): Set<string> {
  const sorted = [...members].sort(
    (a, b) => Number(b.failing) - Number(a.failing) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0),
  );
  return new Set(sorted.slice(0, limit).map(({ key }) => key));
}
