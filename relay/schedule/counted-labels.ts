/**
 * The label summary of what is counted here, where that is less than all that is known. Siblings know the same places, and each gets what any of them
 * needs; of numbers, each says only those of its own children. A node with siblings, or with such a relay anywhere below it, tells both: `labels` is what
 * it is to get, `counted` what it adds to numbers. All others tell the one, and this costs them nothing.
 */
import type { Producer } from '../../core/feed/feed.ts';
import {
  emptyLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  mergeLabelSummaries,
} from '../../core/match/label-summary.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Transaction } from '../../core/store/store.ts';
import { SegmentTree } from '../../core/summary/segment-tree.ts';
import { countedKey, labelsKey } from '../../core/wire/entries.ts';

export class CountedLabels {
  readonly #outbox: Producer;
  #tree: SegmentTree<LabelSummary> | undefined;

  constructor(outbox: Producer) {
    this.#outbox = outbox;
  }

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

  /** In the transaction in which `labels` are told, before them. */
  tellApartFrom(t: Transaction, labels: Uint8Array): void {
    const attributes = this.#attributes();
    if (attributes && Buffer.compare(attributes, labels) !== 0) this.#put(t, attributes);
  }

  /** In the transaction of the change, when the labels are told as far as they are to be. */
  tell(t: Transaction): void {
    const attributes = this.#attributes();
    if (!attributes) return;
    const row = this.#outbox.get(t, hash128(labelsKey));
    const labels = row?.content && this.#outbox.content(t, row.content).attributes;
    if (labels && Buffer.compare(attributes, labels) === 0) this.#outbox.remove(t, hash128(countedKey), 0);
    else this.#put(t, attributes);
  }

  #attributes(): Uint8Array | undefined {
    return this.#tree && encodeLabelSummary(this.#tree.total() ?? emptyLabelSummary);
  }

  #put(t: Transaction, attributes: Uint8Array): void {
    this.#outbox.put(t, { key: countedKey, attributes, body: new Uint8Array(0) }, 0);
  }
}
