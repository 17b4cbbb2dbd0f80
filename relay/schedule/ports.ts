/** The ports of the scheduler: the tables, the children, and the rooms that take part in its decisions. */

import type { TargetAttributes } from '../../core/entries/down-attributes.ts';
import type { EntryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Producer, Table } from '../../core/feed/feed.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { Watermarks } from '../../core/session/watermark.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import type { PoisonWorkGuard } from '../work/work-guard.ts';
import type { OutgoingStage } from './outgoing.ts';

export interface SchedulePorts {
  /** Returns the table with a source's rows: the table of a space of this node, or of the parent's feed. */
  tableOf(source: string): Table | undefined;
  mailboxOf(child: string): Producer | undefined;
  /** Returns for each source the revision up to which this node has received everything. */
  covered(reader: Reader): Watermarks;
  readonly children: ReadonlyMap<string, Child>;
  readonly placements: Placements;
  readonly passage: Passage;
  /** The stages that decide what an agent gets for an object, in this order. */
  readonly stages: readonly OutgoingStage[];
  /** Reads a child from the inventory or its report, and updates `children`. Returns false if the child has left for good. */
  refreshChild(t: Transaction, name: string): boolean;
  /**
   * Called when a Customizer or StatusSummarizer of a source was added, changed or removed, or when its promoted form has changed. The callee may mark work
   * dirty for the placements that use it.
   */
  auxiliaryChanged(t: Transaction, source: string, key: ObjectKey): void;
  /** Called when the child is asked for other objects of its clusters than before. */
  askedChanged(t: Transaction, child: string): void;
  readonly releases: ReleaseExposure;
  /** Quarantines work that ends the process. */
  readonly guard: Pick<PoisonWorkGuard, 'begin' | 'ended' | 'rest'>;
}

/** Holds back the releases of placements: relay/rollout/exposure.ts. */
export interface ReleaseExposure {
  /** Called when a row about a release has changed. Returns true if children may be at another step of the release now. */
  rowChanged(
    t: Transaction,
    entry: EntryKey & { readonly type: 'promoted' | 'promotedCustomizer' | 'release' },
  ): boolean;
  /** Marks rows as work again that were kept back and need not be kept back any more. Returns true if there are any. */
  release(t: Transaction): boolean;
  /** Called when the agent has got the placement. It gets the objects of the placement next. */
  attached(t: Transaction, id: PlacementId, child: string): void;
  /** Called when the agent has lost the placement. Returns the keys of rows that were kept back from the placement's children. */
  detached(t: Transaction, id: PlacementId, child: string): readonly string[];
  /** Called when all objects are in an agent's mailbox. Returns the target for the agent's reports. Undefined: the target in the mailbox stays. */
  targetFor(
    t: Transaction,
    placement: Placement,
    child: string,
    target: TargetAttributes,
  ): TargetAttributes | undefined;
}

/**
 * Decides which child may get or lose a placement now. If the answer is no, the child stays as it is, and the scheduler asks again when the placement or the
 * child is dirty.
 */
export interface Passage {
  /** Returns whether a child that matches, and does not have the placement, may get the placement. */
  mayAttach(t: Transaction, placement: Placement, child: Child): boolean;
  /** Returns whether a child that does not match any more may lose the placement. `placement` is absent if it was removed. */
  mayDetach(t: Transaction, id: PlacementId, child: string, placement: Placement | undefined): boolean;
  /**
   * Returns whether a child that matches must wait although its mailbox has the placement. This happens after a restore of the store: the child removed the
   * placement after the backup was made.
   */
  takesBack(id: PlacementId, child: string): boolean;
  /** Returns whether a child that does not match has a copy that must stay for now, for example an old copy from another replica of this node. */
  keeps(reader: Reader, id: PlacementId, child: string): boolean;
  /** Called when the child, or the placement, has changed. The callee may mark work of the class `move` dirty. */
  childChanged(t: Transaction, child: string): void;
  placementChanged(t: Transaction, id: PlacementId): void;
  /** Called when a placement has arrived that this node did not know. */
  placementCame(t: Transaction, placement: Placement): void;
  /** Reviews the held copies of a placement. Returns how many rows it put into mailboxes. */
  work(t: Transaction, id: PlacementId): number;
}
