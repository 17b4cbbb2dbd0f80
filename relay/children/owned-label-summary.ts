/**
 * The label summary of what is counted here, where that is less than all that is known. Siblings know the same places, and each gets what any of them
 * needs; of numbers, each says only those of its own children. A node with siblings, or with such a relay anywhere below it, tells both: `labels` is what
 * it is to get, and the body of that row what it adds to numbers. All others tell the one, and this costs them nothing.
 *
 * One row, since whoever has the one without the other counts places twice: of two rows, the one that was written again goes out behind the other, and a
 * reconciliation brings them in any order.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import type { Table } from '../../core/feed/feed.ts';
import { boundedSummary } from '../../core/match/bounded-summary.ts';
import {
  decodeLabelSummary,
  emptyLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  mergeLabelSummaries,
} from '../../core/match/label-summary.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Reader } from '../../core/store/store.ts';
import { SegmentTree } from '../../core/summary/segment-tree.ts';

const nothing = new Uint8Array(0);

export class OwnedLabelSummary {
  #tree: SegmentTree<LabelSummary> | undefined;

  get isNeeded(): boolean {
    return this.#tree !== undefined;
  }

  /** From now on, for as long as the process runs. */
  need(): void {
    this.#tree = new SegmentTree<LabelSummary>((a, b) => mergeLabelSummaries([a, b]));
  }

  /** Undefined: nothing of the child is counted. */
  set(child: string, labels: LabelSummary | undefined): void {
    if (labels) this.#tree?.set(child, labels);
    else this.#tree?.delete(child);
  }

  /** The body beside labels with these attributes; empty: they are counted as they are. */
  beside(labels: Uint8Array): Uint8Array {
    if (!this.#tree) return nothing;
    const counted = encodeLabelSummary(boundedSummary(this.#tree.total() ?? emptyLabelSummary));
    return Buffer.compare(counted, labels) === 0 ? nothing : counted;
  }
}

/** What a relay says that it counts; undefined: all that it tells of. */
export function readOwnedLabelSummary(reader: Reader, reported: Table): LabelSummary | undefined {
  const row = reported.get(reader, hash128(entryKey.labels()));
  const body = row?.content && reported.content(reader, row.content).body;
  return body && body.length > 0 ? decodeLabelSummary(body) : undefined;
}
