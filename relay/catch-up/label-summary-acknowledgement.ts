/**
 * Which label summaries the tree above has worked off. A relay gets what its parent found by the labels that the relay told; a child of it may have got more from
 * a sibling of the relay, whose newer labels the parent knew. So a node tells each relay below by which of its summaries all in front of that word was found,
 * here and above (`matched`, with the hash of the summary), and a node with siblings follows by absence only where that summary covers the child.
 *
 * The root has no parent that says the word: nothing waits for it there. Work is by relays that told other labels, and by words that came.
 */

import type { LabelSummaryAcknowledgedAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange, Producer } from '../../core/feed/feed.ts';
import { covers, decodeLabelSummary, type LabelSummary } from '../../core/match/label-summary.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText, equalBytes, hex, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import type { Mailboxes } from '../mailbox/mailboxes.ts';

/** Summaries that were told and not heard of again: labels that change faster than the word comes back are found among these, or a little later. */
const awaitedMax = 16;

export interface LabelSummaryAcknowledgementPorts {
  readonly store: Store;
  readonly upstream: FeedConsumer;
  readonly outbox: Producer;
  readonly mailboxes: Mailboxes;
}

/** The newest summary of this node that was found to be worked off. */
interface AcknowledgedSummary {
  readonly hash: string;
  /** As it was told. */
  readonly labels: string;
}

export class LabelSummaryAcknowledgement {
  readonly #ports: LabelSummaryAcknowledgementPorts;
  /** By hash, oldest first. */
  readonly #awaited = new Map<string, string>();
  /** Relays below that are owed a word. */
  readonly #owed = new Set<string>();
  /** Something has come since they were looked at. */
  #isNew = true;
  /** As the store had it last. A summary is hundreds of kilobytes, and whoever takes many children over asks for each of them. */
  #known: { readonly bytes: Uint8Array; readonly hash: string; readonly summary: LabelSummary } | undefined;

  constructor(ports: LabelSummaryAcknowledgementPorts) {
    this.#ports = ports;
  }

  /** At start: all of them are looked at once. */
  load(): void {
    for (const { child, role } of this.#ports.mailboxes.all()) if (role === 'relay') this.#owed.add(child);
  }

  /** In the transaction in which a relay below told other labels. */
  heard(child: string): void {
    this.#owed.add(child);
    this.#isNew = true;
  }

  /** In the transaction in which this node tells its parent of labels. */
  told(t: Transaction, attributes: Uint8Array): void {
    const hash = hashOf(attributes);
    this.#awaited.delete(hash);
    this.#awaited.set(hash, asText(attributes));
    const [oldest] = this.#awaited.keys();
    if (this.#awaited.size > awaitedMax && oldest !== undefined) this.#awaited.delete(oldest);
    this.#learn(t);
  }

  /** In the transaction that applies what the parent sent. */
  fromAbove(t: Transaction, changes: readonly AppliedChange[]): void {
    if (!changes.some(({ key }) => key === entryKey.matched())) return;
    this.#learn(t);
    this.#isNew = true;
  }

  /** Whether all that concerns places with these labels has come here. */
  covers(reader: Reader, labels: LabelSummary): boolean {
    const said = this.#said(reader);
    if (said === undefined) return true;
    const known = this.#readKnown(reader);
    return known?.hash === said && covers(known.summary, labels);
  }

  /** All that has come is worked off, and it is all that a parent which is ready has. */
  idle(): void {
    if (this.#owed.size === 0 || !this.#isNew) return;
    this.#isNew = false;
    const { store, mailboxes } = this.#ports;
    store.write((t) => {
      for (const child of [...this.#owed]) {
        const mailbox = mailboxes.get(child);
        const row = mailbox?.reported.get(t, hash128(entryKey.labels()));
        const attributes = row?.content && mailbox?.reported.content(t, row.content).attributes;
        // What is not there owes nothing; what comes again is heard again.
        if (mailbox && attributes && !this.covers(t, decodeLabelSummary(attributes))) continue;
        this.#owed.delete(child);
        if (!mailbox || !attributes) continue;
        const word: LabelSummaryAcknowledgedAttributes = { labels: hashOf(attributes) };
        const entry = { key: entryKey.matched(), attributes: text(stableStringify(word)), body: new Uint8Array(0) };
        mailbox.producer.put(t, entry, 0);
      }
    });
  }

  /** The word may name a summary that is told again only later: after a start, and when this node lost its store. */
  #learn(t: Transaction): void {
    const said = this.#said(t);
    if (said === undefined || this.#readKnown(t)?.hash === said) return;
    const labels = this.#awaited.get(said) ?? this.#newest(t, said);
    if (labels === undefined) return;
    t.put(
      prefixOf('acknowledgedLabelSummary'),
      text(JSON.stringify({ hash: said, labels } satisfies AcknowledgedSummary)),
    );
    this.#isNew = true;
  }

  /** What is told now, if it is that. */
  #newest(reader: Reader, hash: string): string | undefined {
    const { outbox } = this.#ports;
    const row = outbox.get(reader, hash128(entryKey.labels()));
    const attributes = row?.content && outbox.content(reader, row.content).attributes;
    return attributes && hashOf(attributes) === hash ? asText(attributes) : undefined;
  }

  /** Decoded once, whatever becomes of the transaction in which it was written. */
  #readKnown(reader: Reader): { readonly hash: string; readonly summary: LabelSummary } | undefined {
    const bytes = reader.get(prefixOf('acknowledgedLabelSummary'));
    if (!bytes) return undefined;
    if (this.#known && equalBytes(this.#known.bytes, bytes)) return this.#known;
    const { hash, labels } = JSON.parse(asText(bytes)) as AcknowledgedSummary;
    this.#known = { bytes, hash, summary: decodeLabelSummary(text(labels)) };
    return this.#known;
  }

  /** The hash that the parent's word names; undefined: it never said one. */
  #said(reader: Reader): string | undefined {
    const { upstream } = this.#ports;
    const row = upstream.sound.get(reader, hash128(entryKey.matched()));
    return (
      row?.content && attributesOf<LabelSummaryAcknowledgedAttributes>(upstream.content(reader, row.content)).labels
    );
  }
}

function hashOf(attributes: Uint8Array): string {
  return hex(hash128(attributes));
}
