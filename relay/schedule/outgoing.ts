/**
 * Decides what a child gets for a row of a source. Relays share the row as it is. For an agent, stages decide at the last hop, in a fixed order: each stage
 * gets the result of the stage before. A row that needs no decision passes through all stages unchanged.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Content, ContentReference } from '../../core/feed/feed.ts';
import { hex } from '../../core/store/bytes.ts';
import type { Transaction } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';

/** Returns the key of a shipment that has to be made: `source keyHash child`. */
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
  /** Set if the row has just changed or was just removed: its entry key, and the placements that wanted it before. */
  readonly changed?: { readonly key: string; readonly refs: readonly string[] };
}

export type OutgoingContent =
  /** The object that the child gets. `reference` is set as long as the content is the content of a row in this store, so that the mailbox can share it. */
  | {
      readonly type: 'content';
      readonly content: Content;
      readonly reference?: ContentReference;
      readonly originRevision: number;
      /** The child does not have this placement's release. The next stages use the Customizers as they were when the placement was promoted. */
      readonly madeAsPromoted?: PlacementId;
    }
  /** The child must not have the object. */
  | { readonly type: 'nothing'; readonly originRevision: number }
  /** The child's mailbox stays as it is in this step. A later step asks for the shipment again. */
  | { readonly type: 'later' }
  /** The child's mailbox stays as it is, because the new content can't be made. The mailbox has the last valid content. */
  | { readonly type: 'keep' };

/** A stage is pure except for the rows that it reads and writes in the transaction. */
export interface OutgoingStage {
  /** Called when a step begins: the budget for one step starts again. */
  begin?(): void;
  /** Called when a placement of the child may now reach it through other destinations. */
  rematched?(t: Transaction, child: Child): void;
  /** Returns the key hashes of the objects that this stage makes for the child with a Customizer (`namespace/name`). */
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
