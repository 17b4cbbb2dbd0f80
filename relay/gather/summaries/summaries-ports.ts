/** The ports and the results of the summaries that users define. */

import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { Reader, Store } from '../../../core/store/store.ts';
import type { Failure } from '../../../core/summary/partial.ts';
import type { SummarizerSpec } from '../../../core/summary/summarizer-spec.ts';
import type { Child } from '../../children/children.ts';
import type { Placement } from '../../placements/placement.ts';
import type { Placements } from '../../placements/placements.ts';
import type { Replicas } from '../../replicas/replicas.ts';
import type { RowSourcePorts } from './row-source.ts';
import type { LocationFacts } from './summary-rows.ts';
import type { UserSummary } from './user-summary.ts';

export interface SummariesPorts extends RowSourcePorts {
  readonly store: Store;
  readonly placements: Placements;
  readonly children: ReadonlyMap<string, Child>;
  /** Returns the place of an agent in the inventory, for a placement that reaches the agent. */
  placeOf(child: string, placement: Placement): LocationFacts;
  /** Returns the key hashes of the reports about upsynced objects of an agent's cluster. */
  upsyncedOf(reader: Reader, child: string): Iterable<Uint8Array>;
  /** Returns the objects of the placement that this node could not make for an agent. */
  heldBack(id: PlacementId, child: string): readonly Failure[];
  /** Returns the specification of a summarizer, as this node knows it. */
  specOf(reader: Reader, source: string, name: string): SummarizerSpec | undefined;
  /** Runs the function in a later turn, after the work that already waits. */
  defer(run: () => void): void;
  /** Called when the summary has changed, or was removed. */
  changed(id: PlacementId, summarizer: string): void;
  /** Called when the placement has other usable summarizers than before. */
  resolved(id: PlacementId): void;
  failed(error: unknown): void;
  readonly replicas: Replicas;
}

/**
 * For one placement: the summaries of the summarizers that exist, and the reasons why the other summarizers can't be used. Both are keyed by the name in the
 * placement's specification.
 */
export interface Resolution {
  readonly summaries: ReadonlyMap<string, UserSummary>;
  readonly unresolved: ReadonlyMap<string, string>;
}
