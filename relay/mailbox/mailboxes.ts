/** The two feeds of each child: the mailbox that this node produces and the reported table that it consumes. */

import type { ChildRole } from '../../core/entries/entry-kind.ts';
import { reportedFlaw } from '../../core/entries/up-check.ts';
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { FarAhead } from '../../core/feed/far-ahead.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { SharedContents } from '../../core/feed/shared-contents.ts';
import { dropTable } from '../../core/feed/table.ts';
import { childPath, replicaNodePath } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import type { Random } from '../../core/runtime/random.ts';
import { forgetStarts } from '../../core/session/handshake.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import { forgetKeepEntries } from './keep-entries.ts';
import { forgetChild, storeChild, storedChildren } from './stored-children.ts';

export interface Mailbox {
  readonly child: string;
  readonly role: ChildRole;
  readonly producer: FeedProducer;
  /** The child's up feed, for the session with it. */
  readonly consumer: FeedConsumer;
  /** What rooms read of it: without what is quarantined. */
  readonly reported: Table;
}

export class Mailboxes {
  readonly #random: Random;
  readonly #isFarAhead: FarAhead | undefined;
  readonly #bootNonce: string;
  /** Of this node. */
  readonly #path: string;
  readonly #byChild = new Map<string, Mailbox>();
  readonly #contents = new SharedContents();
  /** By the name that they share: relays with replicas, and without. */
  readonly #replicas = new Map<string, string[]>();

  /** Opens the mailboxes of all known children; nothing of their rows is read. Without `isFarAhead`, all origin revisions are believed. */
  constructor(store: Store, random: Random, bootNonce: string, path: string, isFarAhead?: FarAhead) {
    this.#isFarAhead = isFarAhead;
    this.#random = random;
    this.#bootNonce = bootNonce;
    this.#path = path;
    store.write((t) => {
      for (const { name, role } of storedChildren(t)) this.#open(t, name, role);
    });
  }

  get(child: string): Mailbox | undefined {
    return this.#byChild.get(child);
  }

  all(): IterableIterator<Mailbox> {
    return this.#byChild.values();
  }

  /** All that share the name of a child, itself among them if it has a mailbox. */
  replicasOf(child: string): readonly string[] {
    return this.#replicas.get(splitReplica(child).name) ?? [];
  }

  /** The child's mailbox, made when it is not there. */
  ensure(t: Transaction, child: string, role: ChildRole): Mailbox {
    const known = this.#byChild.get(child);
    if (known) return known;
    storeChild(t, child, role);
    return this.#open(t, child, role);
  }

  /** The child has left for good: both tables go. */
  drop(t: Transaction, child: string): void {
    if (!this.#byChild.delete(child)) return;
    const { name } = splitReplica(child);
    this.#replicas.set(
      name,
      this.replicasOf(name).filter((replica) => replica !== child),
    );
    forgetChild(t, child);
    forgetKeepEntries(t, child);
    forgetStarts(t, replicaNodePath(this.#path, child));
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
    const speaker = { path: childPath(this.#path, child), role };
    const judge = (content: Content) => reportedFlaw(speaker, content);
    const consumer = FeedConsumer.open(t, { name: reportedTable(child), judge, ofNoSpace: true });
    const mailbox = { child, role, producer, consumer, reported: consumer.sound };
    this.#byChild.set(child, mailbox);
    const { name } = splitReplica(child);
    this.#replicas.set(name, [...this.replicasOf(name), child].sort());
    return mailbox;
  }
}

const mailboxPrefix = 'mailbox/';
const reportedPrefix = 'reported/';
const mailboxTable = (child: string) => `${mailboxPrefix}${child}`;
const reportedTable = (child: string) => `${reportedPrefix}${child}`;

/** The children whose mailboxes are among tables, by name. */
export function childrenOfMailboxes(tables: Iterable<string>): string[] {
  return childrenIn(tables, mailboxPrefix);
}

/** The children whose up feeds are among tables, by name. */
export function childrenOfReported(tables: Iterable<string>): string[] {
  return childrenIn(tables, reportedPrefix);
}

function childrenIn(tables: Iterable<string>, prefix: string): string[] {
  return [...tables].flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
}
