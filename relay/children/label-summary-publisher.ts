/**
 * Reports the node's label summary to its parent. A wider summary goes out in the transaction of the change that widened it: this node must not acknowledge to
 * a child what it has not reported to the parent. A narrower summary goes out after a delay, together with everything that narrows meanwhile. So a property
 * that often changes its value, or agents that move one after the other, cause only a few messages on each level.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { boundedSummary } from '../../core/match/bounded-summary.ts';
import { covers, encodeLabelSummary, type LabelSummary } from '../../core/match/label-summary.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Transaction } from '../../core/store/store.ts';

/**
 * Delay before a narrower summary goes out. Until then, each level goes on sending objects that the subtree no longer needs. The delay is as long as the delay
 * that coalesces partials.
 */
export const labelSummaryShrinkDelayMs = 1_000;

export interface LabelSummaryPublisherPorts {
  readonly clock: Clock;
  readonly outbox: Producer;
  /** Runs a transaction of the node's store, and wakes the parent's session after it. */
  write(act: (t: Transaction) => void): void;
  /** Returns the body of the `labels` row that has these attributes: the owned label summary. Absent: the body is empty. */
  counted?(attributes: Uint8Array): Uint8Array;
  /** Called in the transaction that publishes the `labels` row with these attributes. */
  summaryReported(t: Transaction, attributes: Uint8Array): void;
}

export class LabelSummaryPublisher {
  readonly #ports: LabelSummaryPublisherPorts;
  /** The published summary. Undefined from a put until the transaction of this put is committed: the transaction may fail, and then nothing was published. */
  #published: LabelSummary | undefined;
  #lastPut: LabelSummary | undefined;
  /** The narrower summary that goes out after the delay. */
  #narrower: LabelSummary | undefined;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(ports: LabelSummaryPublisherPorts) {
    this.#ports = ports;
  }

  /**
   * Runs at the start. Publishes the present summary, because this process does not know the summary that was published before. Returns true if the two
   * summaries differ.
   */
  begin(t: Transaction, summary: LabelSummary): boolean {
    return this.#put(t, boundedSummary(summary));
  }

  publish(t: Transaction, whole: LabelSummary): void {
    const summary = boundedSummary(whole);
    if (summary === this.#published) this.#narrower = undefined;
    else if (this.#published && covers(this.#published, summary)) this.#publishLater(summary);
    else this.#put(t, summary);
  }

  /** Publishes the present owned label summary beside the published labels, also while a narrower summary waits for the delay. */
  publishOwnedLabelSummary(t: Transaction): void {
    const { outbox } = this.#ports;
    const row = outbox.get(t, hash128(entryKey.labels()));
    if (row?.content) this.#write(t, outbox.content(t, row.content).attributes);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  #publishLater(summary: LabelSummary): void {
    this.#narrower = summary;
    if (this.#stopped) return;
    this.#timer ??= this.#ports.clock.after(labelSummaryShrinkDelayMs, () => {
      this.#timer = undefined;
      const next = this.#narrower;
      if (next) this.#ports.write((t) => this.#put(t, next));
    });
  }

  #put(t: Transaction, summary: LabelSummary): boolean {
    this.#published = undefined;
    this.#lastPut = summary;
    t.afterCommit(() => {
      if (this.#lastPut === summary) this.#published = summary;
    });
    this.#narrower = undefined;
    const attributes = encodeLabelSummary(summary);
    const isOther = this.#write(t, attributes);
    this.#ports.summaryReported(t, attributes);
    return isOther;
  }

  #write(t: Transaction, attributes: Uint8Array): boolean {
    const body = this.#ports.counted?.(attributes) ?? new Uint8Array(0);
    return this.#ports.outbox.put(t, { key: entryKey.labels(), attributes, body }, 0);
  }
}
