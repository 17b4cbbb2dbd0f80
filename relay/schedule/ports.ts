/** What the scheduler uses: the tables, the children, and the rooms that take part in its decisions. */

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
  /** The table with a source's rows: of a space of this node, or of the parent's feed. */
  tableOf(source: string): Table | undefined;
  mailboxOf(child: string): Producer | undefined;
  /** For each source, the revision up to which this node has received everything. */
  covered(reader: Reader): Watermarks;
  readonly children: ReadonlyMap<string, Child>;
  readonly placements: Placements;
  readonly passage: Passage;
  /** The stages that decide what an agent gets for an object, in this order. */
  readonly stages: readonly OutgoingStage[];
  /** Reads a child from the inventory or its report, and updates `children`. Returns false if the child has left for good. */
  refreshChild(t: Transaction, name: string): boolean;
  /**
   * A Customizer or StatusSummarizer of a source has come, changed or gone, or its promoted form has changed. The callee may mark work dirty for the
   * placements that use it.
   */
  auxiliaryChanged(t: Transaction, source: string, key: ObjectKey): void;
  readonly releases: ReleaseExposure;
  /** Quarantines work that ends the process. */
  readonly guard: Pick<PoisonWorkGuard, 'begin' | 'ended' | 'rest'>;
}

/** Holds back the releases of placements: relay/rollout/exposure.ts. */
export interface ReleaseExposure {
  /** Returns true if children may be at another step of the release now. */
  rowChanged(
    t: Transaction,
    entry: EntryKey & { readonly type: 'promoted' | 'promotedCustomizer' | 'release' },
  ): boolean;
  /** Rows that were kept back, and need not be any more, become work again. Returns true if there are any. */
  release(t: Transaction): boolean;
  /** The agent has the placement from now on, and gets its objects next. */
  attached(t: Transaction, id: PlacementId, child: string): void;
  /** Returns the keys of rows that were kept back from the placement's children. */
  detached(t: Transaction, id: PlacementId, child: string): readonly string[];
  /** The target for an agent's reports, once all objects are in its mailbox. Undefined: the target in the mailbox stays. */
  targetFor(
    t: Transaction,
    placement: Placement,
    child: string,
    target: TargetAttributes,
  ): TargetAttributes | undefined;
}

/** The scheduler asks again whenever the placement or the child is dirty. If the answer is no, the child stays as it is. */
export interface Passage {
  /** Whether a child that matches, and does not have the placement, may get it. */
  mayAttach(t: Transaction, placement: Placement, child: Child): boolean;
  /** Whether a child that does not match any more may lose the placement. `placement` is absent if the placement is gone. */
  mayDetach(t: Transaction, id: PlacementId, child: string, placement: Placement | undefined): boolean;
  /**
   * Whether a child that matches must wait although its mailbox has the placement: the mailbox has it from before the store was restored, and the child has
   * removed it since.
   */
  takesBack(id: PlacementId, child: string): boolean;
  /** Whether a child that does not match has a copy that has to stay for now, for example an old copy from another replica of this node. */
  keeps(reader: Reader, id: PlacementId, child: string): boolean;
  /** The child, or the placement, has changed. The callee may mark `work` dirty. */
  childChanged(t: Transaction, child: string): void;
  placementChanged(t: Transaction, id: PlacementId): void;
  /** A placement has come that this node did not know. */
  placementCame(t: Transaction, placement: Placement): void;
  /** Reviews the held copies of a placement. Returns how many rows it put into mailboxes. */
  work(t: Transaction, id: PlacementId): number;
}
