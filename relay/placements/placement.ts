/** One placement in the memory of this node: what decides where it goes, and which children have it. */
import type { TargetAttributes } from '../../core/entries/down-attributes.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { DeliveryBounds } from '../../core/match/delivery-bounds.ts';
import type { Move } from '../../core/move/move.ts';
import type { LabelSelector } from '../../core/object/selector.ts';

export interface Placement {
  readonly id: PlacementId;
  readonly source: string;
  readonly name: string;
  /** A Location matches if it matches any of the selectors. An empty list together with an expression means every Location. */
  readonly locationSelectors: readonly LabelSelector[];
  readonly locationExpression?: string;
  /**
   * The order of moves, with the generation of the `p/` row in which it is. `target` comes from another row, and may be a moment older or newer. Absent: the
   * placement keeps no order.
   */
  readonly move?: Move & { readonly generation: number };
  readonly target?: TargetAttributes;
  /** The bounds of the space of the placement. Absent: everything may leave the space. */
  readonly delivery?: DeliveryBounds;
  /** Releases of this placement go out in waves. No agent gets any of its objects before a release row allows it. */
  readonly staged?: true;
  /** The selectors of the waves. If a Location begins or ceases to match one of them, the Location may belong to another wave. */
  readonly waveSelectors?: readonly LabelSelector[];
  /** The children whose mailbox has this placement. Change the set only through the class Placements, which has an index by child too. */
  readonly children: Set<string>;
}
