/** What the summaries that users define need, and what they answer. */

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
  /** The place of an agent in the inventory, for a placement that reaches the agent. */
  placeOf(child: string, placement: Placement): LocationFacts;
  /** Key hashes of the reports about upsynced objects of an agent's cluster. */
  upsyncedOf(reader: Reader, child: string): Iterable<Uint8Array>;
  /** Objects of the placement that this node could not make for an agent. */
  heldBack(id: PlacementId, child: string): readonly Failure[];
  /** The specification of a summarizer, as this node knows it. */
  specOf(reader: Reader, source: string, name: string): SummarizerSpec | undefined;
  /** Calls back in a later turn, after the work that already waits. */
  defer(run: () => void): void;
  /** The summary is another one now, or is there no more. */
  changed(id: PlacementId, summarizer: string): void;
  /** Which summarizers of the placement are there has changed. */
  resolved(id: PlacementId): void;
  failed(error: unknown): void;
  readonly replicas: Replicas;
}

/**
 * For one placement: the summaries of the summarizers that exist, and the reasons why the other summarizers can't be used. Both are by the name in the
 * specification.
 */
export interface Resolution {
  readonly summaries: ReadonlyMap<string, UserSummary>;
  readonly unresolved: ReadonlyMap<string, string>;
}
