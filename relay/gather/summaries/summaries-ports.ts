/** What the summaries that users define stand on, and what they answer. */

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
  /** Where an agent stands, for a placement that reaches it. */
  placeOf(child: string, placement: Placement): LocationFacts;
  /** Hashes of the keys under which the objects that were born at an agent's cluster are reported. */
  bornOf(reader: Reader, child: string): Iterable<Uint8Array>;
  /** Some of the placement's objects that this node could not make for an agent. */
  heldBack(id: PlacementId, child: string): readonly Failure[];
  /** The specification of a summarizer, as this node knows it. */
  specOf(reader: Reader, source: string, name: string): SummarizerSpec | undefined;
  /** Calls back soon, after what waits already. */
  defer(run: () => void): void;
  /** The summary is another one now, or is there no more. */
  changed(id: PlacementId, summarizer: string): void;
  /** Which summarizers of the placement are there has changed. */
  resolved(id: PlacementId): void;
  failed(error: unknown): void;
  readonly replicas: Replicas;
}

/** Of a placement: the names in its specification that there is a summarizer for, and those that there is none for, with the reason. */
export interface Resolution {
  readonly summaries: ReadonlyMap<string, UserSummary>;
  readonly unresolved: ReadonlyMap<string, string>;
}
