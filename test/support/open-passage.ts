import type { Passage } from '../../relay/schedule/ports.ts';

/** For a scheduler without moves: who matches comes, and who does not goes. */
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
