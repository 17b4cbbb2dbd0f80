/**
 * The node's label summary as it was told to its parent. It widens in the transaction of the change that made it wider, so that nothing is
 * acknowledged below which is not told above; it narrows a while later, together with what else narrows meanwhile: a property that goes up
 * and down, or agents that move one after the other, are a few messages on each level and not one for each change.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { boundedSummary } from '../../core/match/bounded-summary.ts';
import { covers, encodeLabelSummary, type LabelSummary } from '../../core/match/label-summary.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Transaction } from '../../core/store/store.ts';

/** What still goes to a subtree that does not need it is taken back this late, on each level: as long as a partial is coalesced. */
export const labelSummaryShrinkDelayMs = 1_000;

export interface LabelSummaryPublisherPorts {
  readonly clock: Clock;
  readonly outbox: Producer;
  /** A transaction of the node's store, after which the parent's session is woken. */
  write(act: (t: Transaction) => void): void;
  /** What is told beside labels with these attributes, in the body of their row; absent: nothing. */
  counted?(attributes: Uint8Array): Uint8Array;
  /** In the transaction that tells it. */
  labelSummaryPublisher(t: Transaction, attributes: Uint8Array): void;
}

export class LabelSummaryPublisher {
  readonly #ports: LabelSummaryPublisherPorts;
  /** Undefined from a put until its transaction has happened: it may fail, and then it has told nothing. */
  #told: LabelSummary | undefined;
  #last: LabelSummary | undefined;
  /** What it narrows to when the time has come. */
  #next: LabelSummary | undefined;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(ports: LabelSummaryPublisherPorts) {
    this.#ports = ports;
  }

  /** At start: what is told is what is, since nobody knows here what was told before. True when that was something else. */
  begin(t: Transaction, summary: LabelSummary): boolean {
    return this.#put(t, boundedSummary(summary));
  }

  tell(t: Transaction, whole: LabelSummary): void {
    const summary = boundedSummary(whole);
    if (summary === this.#told) this.#next = undefined;
    else if (this.#told && covers(this.#told, summary)) this.#later(summary);
    else this.#put(t, summary);
  }

  /** What is told beside the labels is told as it is now, also while these are to narrow later. */
  publishOwnedLabelSummary(t: Transaction): void {
    const { outbox } = this.#ports;
    const row = outbox.get(t, hash128(entryKey.labels()));
    if (row?.content) this.#write(t, outbox.content(t, row.content).attributes);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  #later(summary: LabelSummary): void {
    this.#next = summary;
    if (this.#stopped) return;
    this.#timer ??= this.#ports.clock.after(labelSummaryShrinkDelayMs, () => {
      this.#timer = undefined;
      const next = this.#next;
      if (next) this.#ports.write((t) => this.#put(t, next));
    });
  }

  #put(t: Transaction, summary: LabelSummary): boolean {
    this.#told = undefined;
    this.#last = summary;
    t.afterCommit(() => {
      if (this.#last === summary) this.#told = summary;
    });
    this.#next = undefined;
    const attributes = encodeLabelSummary(summary);
    const isOther = this.#write(t, attributes);
    this.#ports.labelSummaryPublisher(t, attributes);
    return isOther;
  }

  #write(t: Transaction, attributes: Uint8Array): boolean {
    const body = this.#ports.counted?.(attributes) ?? new Uint8Array(0);
    return this.#ports.outbox.put(t, { key: entryKey.labels(), attributes, body }, 0);
  }
}
