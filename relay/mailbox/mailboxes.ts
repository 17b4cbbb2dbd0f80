/** The two feeds of each child: the mailbox that this node produces, and the table of reports that this node consumes. */

import type { ChildRole } from '../../core/entries/entry-kind.ts';
import { reportedFlaw } from '../../core/entries/up-check.ts';
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { FarAhead } from '../../core/feed/far-ahead.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import type { RowQuota } from '../../core/feed/row-quota.ts';
import { SharedContents } from '../../core/feed/shared-contents.ts';
import { dropTable } from '../../core/feed/table.ts';
import { childPath, replicaNodePath } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import type { Random } from '../../core/runtime/random.ts';
import { dismissKey } from '../../core/session/admitted-keys.ts';
import { forgetStarts } from '../../core/session/handshake.ts';
import { forgetHeard } from '../../core/session/last-heard.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import { unaskedFlaw } from './asked-rows.ts';
import { forgetKeepEntries } from './keep-entries.ts';
import { forgetChild, storeChild, storedChildren } from './stored-children.ts';

export interface Mailbox {
  readonly child: string;
  readonly role: ChildRole;
  readonly producer: FeedProducer;
  /** The consumer of the child's up feed; the session with the child uses it. */
  readonly consumer: FeedConsumer;
  /** The reports, without quarantined entries. All rooms read these. */
  readonly reported: Table;
}

export class Mailboxes {
  readonly #random: Random;
  readonly #isFarAhead: FarAhead | undefined;
  readonly #bootNonce: string;
  /** The path of this node. */
  readonly #path: string;
  readonly #byChild = new Map<string, Mailbox>();
  readonly #contents = new SharedContents();
  /** Keyed by the name without the replica number: the children with this name. A relay without replicas is alone in its list. */
  readonly #replicas = new Map<string, string[]>();

  readonly #leaving = new Set<string>();
  readonly #quotaOf: ((child: string) => RowQuota) | undefined;

  /**
   * Opens the mailboxes of all stored children; reads none of their rows. Without `isFarAhead`, every origin revision is accepted. `quotaOf` returns the quota of
   * what a child reports, by the child's name without a replica number. Without it, there is no quota.
   */
  constructor(
    store: Store,
    random: Random,
    bootNonce: string,
    path: string,
    isFarAhead?: FarAhead,
    quotaOf?: (child: string) => RowQuota,
  ) {
    this.#isFarAhead = isFarAhead;
    this.#quotaOf = quotaOf;
    this.#random = random;
    this.#bootNonce = bootNonce;
    this.#path = path;
    store.write((t) => {
      for (const { name, role, leaving } of storedChildren(t)) {
        this.#open(t, name, role);
        if (leaving) this.#leaving.add(name);
      }
    });
  }

  get(child: string): Mailbox | undefined {
    return this.#byChild.get(child);
  }

  all(): IterableIterator<Mailbox> {
    return this.#byChild.values();
  }

  /** Returns all replicas with the child's name that have a mailbox. */
  replicasOf(child: string): readonly string[] {
    return this.#replicas.get(splitReplica(child).name) ?? [];
  }

  /** Returns the child's mailbox; makes it if there is none. */
  ensure(t: Transaction, child: string, role: ChildRole): Mailbox {
    const existing = this.#byChild.get(child);
    if (existing) return existing;
    storeChild(t, child, { role });
    return this.#open(t, child, role);
  }

  /** Call it when a person removes the child. The scheduler drops the mailbox later, in a step of its own: a mailbox may be large. */
  leave(t: Transaction, child: string): void {
    const mailbox = this.#byChild.get(child);
    if (!mailbox) return;
    storeChild(t, child, { role: mailbox.role, leaving: true });
    t.afterCommit(() => this.#leaving.add(child));
  }

  /** Returns whether the child was removed, and its mailbox still has to be dropped. */
  isLeaving(child: string): boolean {
    return this.#leaving.has(child);
  }

  /** Call it when the child has left for good. Drops both tables. */
  drop(t: Transaction, child: string): void {
    if (!this.#byChild.delete(child)) return;
    this.#leaving.delete(child);
    const { name } = splitReplica(child);
    this.#replicas.set(
      name,
      this.replicasOf(name).filter((replica) => replica !== child),
    );
    forgetChild(t, child);
    forgetKeepEntries(t, child);
    const path = replicaNodePath(this.#path, child);
    forgetStarts(t, path);
    dismissKey(t, path);
    forgetHeard(t, child);
    dropTable(t, mailboxTable(child));
    dropTable(t, reportedTable(child));
  }

  #open(t: Transaction, child: string, role: ChildRole): Mailbox {
    const producer = FeedProducer.open(t, {
      name: mailboxTable(child),
      bootNonce: this.#bootNonce,
      random: this.#random,
      contents: this.#contents,
      ...(this.#isFarAhead && { isFarAhead: this.#isFarAhead }),
    });
    const sender = { path: childPath(this.#path, child), role };
    const judge = (content: Content, reader: Reader) =>
      reportedFlaw(sender, content) ?? unaskedFlaw(reader, producer, content);
    const { name } = splitReplica(child);
    const quotaOf = this.#quotaOf;
    const quota = quotaOf && (() => quotaOf(name));
    const consumer = FeedConsumer.open(t, {
      name: reportedTable(child),
      judge,
      ofNoSpace: true,
      ...(quota ? { quota } : {}),
    });
    const mailbox = { child, role, producer, consumer, reported: consumer.sound };
    this.#byChild.set(child, mailbox);
    this.#replicas.set(name, [...this.replicasOf(name), child].sort());
    return mailbox;
  }
}

const mailboxPrefix = 'mailbox/';
const reportedPrefix = 'reported/';
const mailboxTable = (child: string) => `${mailboxPrefix}${child}`;
const reportedTable = (child: string) => `${reportedPrefix}${child}`;

/** Returns the names of the children whose mailboxes are among the tables. */
export function childrenOfMailboxes(tables: Iterable<string>): string[] {
  return childrenIn(tables, mailboxPrefix);
}

/** Returns the names of the children whose up feeds are among the tables. */
export function childrenOfReported(tables: Iterable<string>): string[] {
  return childrenIn(tables, reportedPrefix);
}

function childrenIn(tables: Iterable<string>, prefix: string): string[] {
  return [...tables].flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
}
