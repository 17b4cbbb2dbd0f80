/**
 * What a child gets in the place of a row of a source. Relays share the row as it is; what an agent gets is decided here, at the last hop,
 * by stages in a fixed order: each sees what the one before left, and a child for which nothing is to be decided passes through all of them.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Content, ContentReference } from '../../core/feed/feed.ts';
import { hex } from '../../core/store/bytes.ts';
import type { Transaction } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';

/** The key of a shipment that is left to do: `source keyHash child`. */
export function shipmentKey({
  source,
  keyHash,
  child,
}: {
  source: string;
  keyHash: Uint8Array;
  child: string;
}): string {
  return `${source} ${hex(keyHash)} ${child}`;
}

/** An object row of a source on its way to an agent. */
export interface Shipment {
  readonly child: Child;
  readonly source: string;
  readonly keyHash: Uint8Array;
  /** When the row has just changed, and may be gone by now: its entry key, and the placements that wanted it before. */
  readonly changed?: { readonly key: string; readonly refs: readonly string[] };
}

export type OutgoingContent =
  /** With a reference while the content is still the one that a row of this store names, so that it can be shared. */
  | {
      readonly type: 'content';
      readonly content: Content;
      readonly reference?: ContentReference;
      readonly originRevision: number;
      /** The child has not got this placement's release: what is made of the content is made with the Customizers as they were promoted. */
      readonly madeAsPromoted?: PlacementId;
    }
  /** The child is not to have the object. */
  | { readonly type: 'nothing'; readonly originRevision: number }
  /** The child's mailbox stays as it is in this step; the shipment is asked for again in a later one. */
  | { readonly type: 'later' }
  /** The child's mailbox stays as it is: what it should get can't be made, and what it has is the last good one. */
  | { readonly type: 'keep' };

/** Pure but for the rows that it reads and keeps in the transaction. */
export interface OutgoingStage {
  /** A step begins: what one step may cost is there anew. */
  begin?(): void;
  /** A placement that has reached the child before may reach it by other destinations now. */
  rematched?(t: Transaction, child: Child): void;
  /** Hashes of the entry keys of the objects that it makes for a child with the Customizer, by `namespace/name`. */
  madeWith?(source: string, customizer: string, child: string): Iterable<Uint8Array>;
  outgoing(t: Transaction, shipment: Shipment, what: OutgoingContent): OutgoingContent;
}

export function throughStages(
  stages: readonly OutgoingStage[],
  t: Transaction,
  shipment: Shipment,
  what: OutgoingContent,
): OutgoingContent {
  return stages.reduce((passed, stage) => stage.outgoing(t, shipment, passed), what);
}
