/** Whose word counts where siblings are about: asked by the rooms that add up what children tell. */
export interface ReplicaCounting {
  /** What is known of the child is part of what this node tells: it is its own, and the child itself counts here. */
  counts(child: string): boolean;
  /** What the child adds stays as it is. */
  isFrozen(child: string): boolean;
  /** It is being reconciled, and nobody knows which of its rows go together: it adds nothing where that does not stay as it is. */
  isMixed(child: string): boolean;
  /** The siblings of a child that has some, itself among them. */
  membersOf(child: string): readonly string[] | undefined;
  /** It was attached to this node or to a sibling of it. */
  wasAttached(child: string): boolean;
}

/** Nobody has siblings. */
export const withoutReplicas: ReplicaCounting = {
  counts: () => true,
  isFrozen: () => false,
  isMixed: () => false,
  membersOf: () => undefined,
  wasAttached: () => false,
};
