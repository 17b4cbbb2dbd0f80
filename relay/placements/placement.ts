/** One placement in the memory of this node: what decides where it goes, and which children have it. */
import type { TargetAttributes } from '../../core/entries/down-attributes.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Move } from '../../core/move/move.ts';
import type { LabelSelector } from '../../core/object/selector.ts';

export interface Placement {
  readonly id: PlacementId;
  readonly source: string;
  readonly name: string;
  /** The selectors are ORed. An empty list together with an expression means every Location. */
  readonly locationSelectors: readonly LabelSelector[];
  readonly locationExpression?: string;
  /** The order of moves, with the generation of the row that has it: `target` may be a moment older or newer. Absent: the placement keeps no order. */
  readonly move?: Move & { readonly generation: number };
  readonly target?: TargetAttributes;
  /** Releases of this placement go out in waves. No agent gets anything of it before a release row allows it. */
  readonly staged?: true;
  /** The selectors of the waves. A Location that matches another one of them may belong to another wave. */
  readonly waveSelectors?: readonly LabelSelector[];
  /** The children whose mailbox has this placement. Only Placements changes the set, because it has an index by child too. */
  readonly children: Set<string>;
}
