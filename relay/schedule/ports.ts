/** What the scheduler stands on: the tables, the children, and those who have a say in what goes where. */

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
  /** The table that holds a source's rows: one of the node's own spaces, or what comes from above. */
  tableOf(source: string): Table | undefined;
  mailboxOf(child: string): Producer | undefined;
  /** Of each source, up to which revision all is here. */
  covered(reader: Reader): Watermarks;
  readonly children: ReadonlyMap<string, Child>;
  readonly placements: Placements;
  readonly passage: Passage;
  /** What decides what an agent gets for an object, in this order. */
  readonly stages: readonly OutgoingStage[];
  /** Reads a child anew from the inventory or its report, into `children`; false when it is gone for good. */
  refreshChild(t: Transaction, name: string): boolean;
  /** A Customizer or StatusSummarizer of a source has come, changed or gone, or what was promoted of it; its users may be marked dirty. */
  auxiliaryChanged(t: Transaction, source: string, key: ObjectKey): void;
  readonly releases: ReleaseExposure;
  /** Leaves out what ends the process. */
  readonly guard: Pick<PoisonWorkGuard, 'begin' | 'ended' | 'rest'>;
}

/** What holds back the releases of placements: relay/rollout/exposure.ts. */
export interface ReleaseExposure {
  /** True if children may stand elsewhere in the release now. */
  rowChanged(
    t: Transaction,
    entry: EntryKey & { readonly type: 'promoted' | 'promotedCustomizer' | 'release' },
  ): boolean;
  /** What was kept back and need not be any more is work again; true if there is some. */
  release(t: Transaction): boolean;
  /** An agent has it from now on, and gets its objects next. */
  attached(t: Transaction, id: PlacementId, child: string): void;
  /** Returns the keys of rows that were kept back from the placement's children. */
  detached(t: Transaction, id: PlacementId, child: string): readonly string[];
  /** What an agent's reports are to be exact for, once all objects are in its mailbox; undefined: what it was told stays. */
  targetFor(
    t: Transaction,
    placement: Placement,
    child: string,
    target: TargetAttributes,
  ): TargetAttributes | undefined;
}

/** Asked again whenever the placement or the child is dirty; what may not happen yet leaves the child as it is. */
export interface Passage {
  /** A child that matches now and has nothing of the placement yet may have it. */
  mayAttach(t: Transaction, placement: Placement, child: Child): boolean;
  /** A child that does not match any more may lose it; `placement` is absent when it is gone itself. */
  mayDetach(t: Transaction, id: PlacementId, child: string, placement: Placement | undefined): boolean;
  /** A child that matches has to wait after all: its mailbox has the placement from before the store was put back, and it has let go of it since. */
  takesBack(id: PlacementId, child: string): boolean;
  /** A child that does not match, and has a copy that waits for another one from a sibling of this node. */
  keeps(reader: Reader, id: PlacementId, child: string): boolean;
  /** What is known of a child, or what a placement says, has changed: `work` may be marked dirty. */
  childChanged(t: Transaction, child: string): void;
  placementChanged(t: Transaction, id: PlacementId): void;
  /** One that was not known here before. */
  placementCame(t: Transaction, placement: Placement): void;
  /** Looks again at what has been kept back of a placement; how many rows of mailboxes it put. */
  work(t: Transaction, id: PlacementId): number;
}
