/** Which of the objects of one resource below one placed object are told, when there are more than its rules allow. */

export interface AssociatedCandidate {
  readonly key: string;
  readonly failing: boolean;
}

/** Those that fail first, then by key: the same on every look at the same objects. */
export function chooseMembers(members: Iterable<AssociatedCandidate>, limit: number): Set<string> {
  const sorted = [...members].sort(
    (a, b) => Number(b.failing) - Number(a.failing) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0),
  );
  return new Set(sorted.slice(0, limit).map(({ key }) => key));
}
