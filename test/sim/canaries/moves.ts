/** Rules of placements whose copies go and come in an order, taken away. */
import { Mover } from '../../../relay/moves/mover.ts';
import type { Canaries } from './canary.ts';

export const moveCanaries: Canaries = {
  'old-copy-goes-first': {
    break() {
      // Who is to have nothing any more has nothing at once.
      Mover.prototype.mayDetach = () => true;
    },
  },
  'new-copy-comes-first': {
    break() {
      // Who is to have something has it at once.
      Mover.prototype.mayAttach = () => true;
    },
  },
};
