import type { Passage } from '../../relay/schedule/ports.ts';

/** For a scheduler without moves: a matching child gets its objects at once, and another one loses them at once. */
export const openPassage: Passage = {
  mayAttach: () => true,
  mayDetach: () => true,
  takesBack: () => false,
  keeps: () => false,
  childChanged() {},
  placementChanged() {},
  placementCame() {},
  work: () => 0,
};
