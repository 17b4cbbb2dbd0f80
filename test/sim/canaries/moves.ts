/** Canaries that remove rules of placements whose copies move in a fixed order. */
import { Mover } from '../../../relay/moves/mover.ts';
import type { Canaries } from './canary.ts';

export const moveCanaries: Canaries = {
  'old-copy-goes-first': {
    break() {
      // An agent that has to lose the placement loses it at once.
      Mover.prototype.mayDetach = () => true;
    },
  },
  'new-copy-comes-first': {
    break() {
      // An agent that has to get the placement gets it at once.
      Mover.prototype.mayAttach = () => true;
    },
  },
};
