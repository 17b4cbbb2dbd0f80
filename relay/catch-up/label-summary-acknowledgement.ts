/**
 * Acknowledges label summaries. A relay gets from its parent everything that matches the labels that the relay has reported. A child of the relay may have
 * received more from another replica of the relay, if the parent knew newer labels from that replica.
 *
 * So each node sends each relay below it an acknowledgement (entry `matched`, with the hash of a label summary of that relay). It means: everything that the
 * summary matches, at this node and at all nodes above, comes before the acknowledgement in the relay's feed. A node with replicas, or below replicas, lets a
 * child follow its mailbox only when the acknowledged summary covers the labels at the child.
 *
 * The root has no parent that could acknowledge, so nothing waits at the root. The work grows with the number of relays that report other labels, and with the
 * number of acknowledgements that arrive.
 */

import type { LabelSummaryAcknowledgedAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { AppliedChange, Producer } from '../../core/feed/feed.ts';
import { covers, decodeLabelSummary, type LabelSummary } from '../../core/match/label-summary.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText, equalBytes, hex, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import type { Mailboxes } from '../mailbox/mailboxes.ts';

/**
 * Limit for the newest reported summaries that this node remembers. Labels may change faster than acknowledgements return, so an acknowledgement may name any
 * of these summaries. If it names an older one, this node waits for a later acknowledgement.
 */
const reportedMax = 16;

export interface LabelSummaryAcknowledgementPorts {
  readonly store: Store;
  readonly upstream: FeedConsumer;
  readonly outbox: Producer;
  readonly mailboxes: Mailboxes;
}

/** The newest summary of this node that the parent has acknowledged, as the store keeps it. */
interface AcknowledgedSummary {
  readonly hash: string;
  /** The summary, encoded as this node reported it. */
  readonly labels: string;
}

export class LabelSummaryAcknowledgement {
  readonly #ports: LabelSummaryAcknowledgementPorts;
  /** Keyed by hash: the newest summaries that this node has reported, the oldest first. */
  readonly #reported = new Map<string, string>();
  /** Relays below to which this node has to send an acknowledgement. */
  readonly #toAcknowledge = new Set<string>();
  /** True if new labels or an acknowledgement have arrived since this node last checked `#toAcknowledge`. */
  #hasNews = true;
  /** Cache of the acknowledged summary in the store. A summary has hundreds of kilobytes, and a node that takes over many children needs it for each. */
  #decoded: { readonly bytes: Uint8Array; readonly hash: string; readonly summary: LabelSummary } | undefined;

  constructor(ports: LabelSummaryAcknowledgementPorts) {
    this.#ports = ports;
  }

  /** Called once, at the start of the node. Marks every relay, so that each one is checked once. */
  load(): void {
    for (const { child, role } of this.#ports.mailboxes.all()) if (role === 'relay') this.#toAcknowledge.add(child);
  }

  /** Runs in the transaction in which a relay below reports other labels. */
  labelsReceived(child: string): void {
    this.#toAcknowledge.add(child);
    this.#hasNews = true;
  }

  /** Runs in the transaction in which this node reports labels to its parent. */
  summaryReported(t: Transaction, attributes: Uint8Array): void {
    const hash = hashOf(attributes);
    this.#reported.delete(hash);
    this.#reported.set(hash, asText(attributes));
    const [oldest] = this.#reported.keys();
    if (this.#reported.size > reportedMax && oldest !== undefined) this.#reported.delete(oldest);
    this.#storeAcknowledged(t);
  }

  /** Runs in the transaction that applies changes of the parent's feed. */
  receivedFromParent(t: Transaction, changes: readonly AppliedChange[]): void {
    if (!changes.some(({ key }) => key === entryKey.matched())) return;
    this.#storeAcknowledged(t);
    this.#hasNews = true;
  }

  /**
   * Returns whether everything from above that may match Locations with these labels has arrived at this node. True if the parent has sent no acknowledgement.
   */
  covers(reader: Reader, labels: LabelSummary): boolean {
    const hash = this.#acknowledgedHash(reader);
    if (hash === undefined) return true;
    const acknowledged = this.#readAcknowledged(reader);
    return acknowledged?.hash === hash && covers(acknowledged.summary, labels);
  }

  /**
   * Sends acknowledgements to the relays below. Call it when this node has processed everything that has arrived, and has received everything that a ready
   * parent had.
   */
  acknowledge(): void {
    if (this.#toAcknowledge.size === 0 || !this.#hasNews) return;
    this.#hasNews = false;
    const { store, mailboxes } = this.#ports;
    store.write((t) => {
      for (const child of [...this.#toAcknowledge]) {
        const mailbox = mailboxes.get(child);
        const row = mailbox?.reported.get(t, hash128(entryKey.labels()));
        const attributes = row?.content && mailbox?.reported.content(t, row.content).attributes;
        // A relay without a mailbox or labels needs no acknowledgement. When it reports labels again, it is added again.
        if (mailbox && attributes && !this.covers(t, decodeLabelSummary(attributes))) continue;
        this.#toAcknowledge.delete(child);
        if (!mailbox || !attributes) continue;
        const acknowledgement: LabelSummaryAcknowledgedAttributes = { labels: hashOf(attributes) };
        const entry = {
          key: entryKey.matched(),
          attributes: text(stableStringify(acknowledgement)),
          body: new Uint8Array(0),
        };
        mailbox.producer.put(t, entry, 0);
      }
    });
  }

  /**
   * Stores the summary that the parent's acknowledgement names. After a start, or after a loss of its store, this node may report that summary only after the
   * acknowledgement has arrived. So this runs again with each report.
   */
  #storeAcknowledged(t: Transaction): void {
    const hash = this.#acknowledgedHash(t);
    if (hash === undefined || this.#readAcknowledged(t)?.hash === hash) return;
    const labels = this.#reported.get(hash) ?? this.#presentReport(t, hash);
    if (labels === undefined) return;
    t.put(prefixOf('acknowledgedLabelSummary'), text(JSON.stringify({ hash, labels } satisfies AcknowledgedSummary)));
    this.#hasNews = true;
  }

  /** Returns the summary that this node reports now, if it has this hash. */
  #presentReport(reader: Reader, hash: string): string | undefined {
    const attributes = entryContent(reader, this.#ports.outbox, entryKey.labels())?.attributes;
    return attributes && hashOf(attributes) === hash ? asText(attributes) : undefined;
  }

  /**
   * Returns the acknowledged summary, which is decoded only once. The cache compares bytes, so it is right even if the transaction that wrote the summary
   * fails.
   */
  #readAcknowledged(reader: Reader): { readonly hash: string; readonly summary: LabelSummary } | undefined {
    const bytes = reader.get(prefixOf('acknowledgedLabelSummary'));
    if (!bytes) return undefined;
    if (this.#decoded && equalBytes(this.#decoded.bytes, bytes)) return this.#decoded;
    const { hash, labels } = JSON.parse(asText(bytes)) as AcknowledgedSummary;
    this.#decoded = { bytes, hash, summary: decodeLabelSummary(text(labels)) };
    return this.#decoded;
  }

  /** Returns the hash in the parent's newest acknowledgement. Undefined: the parent has sent none. */
  #acknowledgedHash(reader: Reader): string | undefined {
    const content = entryContent(reader, this.#ports.upstream.sound, entryKey.matched());
    return content && attributesOf<LabelSummaryAcknowledgedAttributes>(content).labels;
  }
}

function hashOf(attributes: Uint8Array): string {
  return hex(hash128(attributes));
}
