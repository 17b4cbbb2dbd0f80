/** One placement as this node keeps it in memory: what decides where it goes, and which children have it. */
import type { TargetAttributes } from '../../core/entries/down-attributes.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Move } from '../../core/move/move.ts';
import type { LabelSelector } from '../../core/object/selector.ts';

export interface Placement {
  readonly id: PlacementId;
  readonly source: string;
  readonly name: string;
  /** ORed; empty with an expression means every Location. */
  readonly locationSelectors: readonly LabelSelector[];
  readonly locationExpression?: string;
  /** The order of moves, with the generation of the row that says it, since `target` may be a moment older or newer; absent: none. */
  readonly move?: Move & { readonly generation: number };
  readonly target?: TargetAttributes;
  /** Its releases go out in waves: nothing of it reaches an agent before a release row says what may. */
  readonly staged?: true;
  /** Of its waves: a Location that they name anew may stand in another wave. */
  readonly waveSelectors?: readonly LabelSelector[];
  /** Children whose mailbox has this placement; changed by Placements, which knows it by child too. */
  readonly children: Set<string>;
}
