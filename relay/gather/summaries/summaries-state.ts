/** The state of the summaries in memory: placements with their summaries, and the work that is left. */

import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { AssociatedItem } from '../../../core/match/resource-rules.ts';
import type { UpsyncItem } from '../../../core/match/upsync-item.ts';
import type { RowPlace } from './row-source.ts';
import type { LocationFacts } from './summary-rows.ts';
import type { UserSummary } from './user-summary.ts';

export interface DirtyRow extends RowPlace {
  /** True: the object itself may have changed, so that other summaries than before may want the row. False: only its state has changed. */
  readonly shipped: boolean;
  /** An upsynced or associated object. `keyHash` is the key hash of the row in which the agent reported it. */
  readonly fromCluster?: true;
}

/** Work: read all rows of one child. */
export interface Load {
  readonly id: PlacementId;
  readonly name: string;
  readonly summary: UserSummary;
  readonly child: string;
}

/** The state of one placement. */
export interface PlacementRows {
  /** The hash of the placement's content. */
  content: string;
  /** The names of the placement's summarizers. */
  names: readonly string[];
  upsync: readonly UpsyncItem[];
  associated: readonly AssociatedItem[];
  readonly summaries: Map<string, UserSummary>;
  readonly unresolved: Map<string, string>;
  readonly places: Map<string, LocationFacts>;
}
