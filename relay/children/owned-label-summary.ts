/**
 * The owned label summary: the Locations that a node counts, if they are fewer than the Locations that the node knows. The replicas of a relay know the same
 * Locations, and each replica gets everything that any of them needs. But each Location must count only once: at the replica that owns the child. So a node
 * that has replicas, or has relays with replicas anywhere below it, reports two summaries in its `labels` row: the attributes decide what the node gets, and
 * the body has the Locations that the node adds to counts. All other nodes report only the attributes, and this costs them nothing.
 *
 * Both summaries are in one row, because a parent with only one of them would count Locations twice. Two rows would not arrive together: the row that was
 * written again goes out after the other, and a reconciliation sends rows in any order.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { Table } from '../../core/feed/feed.ts';
import { boundedSummary } from '../../core/match/bounded-summary.ts';
import {
  decodeLabelSummary,
  emptyLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  mergeLabelSummaries,
} from '../../core/match/label-summary.ts';
import type { Reader } from '../../core/store/store.ts';
import { SegmentTree } from '../../core/summary/segment-tree.ts';

const nothing = new Uint8Array(0);

export class OwnedLabelSummary {
  #tree: SegmentTree<LabelSummary> | undefined;

  get isNeeded(): boolean {
    return this.#tree !== undefined;
  }

  /** Begins to keep the owned label summary, until the process ends. */
  need(): void {
    this.#tree = new SegmentTree<LabelSummary>((a, b) => mergeLabelSummaries([a, b]));
  }

  /** Sets the Locations of a child that this node counts. Undefined: this node counts none of them. */
  set(child: string, labels: LabelSummary | undefined): void {
    if (labels) this.#tree?.set(child, labels);
    else this.#tree?.delete(child);
  }

  /** Returns the body of the `labels` row that has these attributes. Empty: the node counts all Locations of the attributes. */
  beside(labels: Uint8Array): Uint8Array {
    if (!this.#tree) return nothing;
    const counted = encodeLabelSummary(boundedSummary(this.#tree.total() ?? emptyLabelSummary));
    return Buffer.compare(counted, labels) === 0 ? nothing : counted;
  }
}

/** Returns the owned label summary that a relay has reported. Undefined: the relay counts all Locations of its label summary. */
export function readOwnedLabelSummary(reader: Reader, reported: Table): LabelSummary | undefined {
  const body = entryContent(reader, reported, entryKey.labels())?.body;
  return body && body.length > 0 ? decodeLabelSummary(body) : undefined;
}
