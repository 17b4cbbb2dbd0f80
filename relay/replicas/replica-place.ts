/**
 * The side of a relay that is itself a replica. The relay reports to its parent which children attach to it, receives which replica owns each child, and leaves
 * the children of others out of all its reports. A node without replicas owns all of its children. The decisions are rows of the parent's feed. This file only
 * caches the rows that it has read.
 */

import type { OwnerAttributes, ReplicasAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AttachAttributes, ReplicaTermAttributes } from '../../core/entries/up-attributes.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { AppliedChange, Producer } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';

export interface ReplicaPlacePorts {
  readonly store: Store;
  readonly upstream: FeedConsumer;
  readonly outbox: Producer;
  readonly replica: number;
  readonly replicas: number;
  children(): Iterable<string>;
  /**
   * Called when this node begins or ceases to own these children. Reports all sums with these children again. Returns false if some sums can't be reported yet.
   */
  recountChildren(children: readonly string[]): boolean;
  /** Ends the session of a child that has attached to another replica, and whose session with this node has not ended. */
  endSession(child: string, reason: string): void;
}

export class ReplicaPlace {
  readonly #ports: ReplicaPlacePorts;
  /** The owners that were read from the store. */
  readonly #owners = new Map<string, OwnerAttributes | undefined>();
  #state: ReplicasAttributes = { term: 0, lead: 0 };
  #reportedTerm = 0;
  /** Children that this node has begun or ceased to own. The reports do not show this yet. */
  readonly #unreported = new Set<string>();

  /**
   * True if this node has replicas. Also true for the last replica, when the others are no longer in the topology: the parent still has the others in the
   * group. The parent believes that their children are now at this node only if this node reports so as a replica.
   */
  readonly hasReplicas: boolean;

  constructor(ports: ReplicaPlacePorts) {
    this.#ports = ports;
    const isInGroup = (reader: Reader) => this.#row<ReplicasAttributes>(reader, entryKey.replicas()) !== undefined;
    this.hasReplicas = ports.replicas > 1 || ports.store.read(isInGroup);
  }

  /**
   * Called once, at the start of the node. If the last process did not report the newest term, this node reports all children again, because it does not know
   * how many of them the last process reported.
   */
  load(reader: Reader): void {
    if (!this.hasReplicas) return;
    this.#state = this.#stateOf(reader);
    const { outbox, children } = this.#ports;
    const row = outbox.get(reader, hash128(entryKey.replicaTerm()));
    if (row?.content)
      this.#reportedTerm = attributesOf<ReplicaTermAttributes>(outbox.content(reader, row.content)).term;
    if (this.#reportedTerm !== this.#state.term) for (const child of children()) this.#unreported.add(child);
  }

  /** Returns whether this node counts the child, and its parent counts this node's reports about the child. */
  owns(child: string): boolean {
    if (!this.hasReplicas) return true;
    const row = this.#cachedOwner(child);
    return row ? row.owner === this.#ports.replica && row.granted : this.#state.lead === this.#ports.replica;
  }

  /** Returns whether another replica has the child, or is about to get it. If so, this node does not wait for reports of the child. */
  isElsewhere(child: string): boolean {
    const row = this.hasReplicas ? this.#cachedOwner(child) : undefined;
    return row !== undefined && row.owner !== this.#ports.replica;
  }

  /** Returns whether the child was attached to this node or to another replica. */
  wasAttached(child: string): boolean {
    return this.hasReplicas && this.#cachedOwner(child) !== undefined;
  }

  superseded(child: string, sequence: number): { message: string; sequence?: number } | undefined {
    const row = this.hasReplicas ? this.#cachedOwner(child) : undefined;
    if (!row || sequence >= row.sequence) return undefined;
    const message = `the child attached with sequence ${row.sequence} to replica ${row.owner} of this node, and sends ${sequence} here: this process is an older copy; stop it, or empty its store`;
    return row.owner === this.#ports.replica ? { message, sequence: row.sequence } : { message };
  }

  /** Runs in the transaction that opens a session of the child. */
  attached(t: Transaction, child: string, role: 'relay' | 'agent', sequence: number): void {
    if (!this.hasReplicas) return;
    const row: AttachAttributes = { sequence, role };
    this.#report(t, entryKey.attach(child), row);
  }

  /** Runs in the transaction that drops the mailbox of the child. */
  removed(t: Transaction, child: string): void {
    if (this.hasReplicas) this.#ports.outbox.remove(t, hash128(entryKey.attach(child)), 0);
  }

  /** Runs in the transaction that applies changes of the parent's feed, or moves the cursor of the feed. */
  receivedFromParent(t: Transaction, changes: readonly AppliedChange[]): void {
    if (!this.hasReplicas) return;
    const owners = changes.flatMap(({ key }) => {
      const entry = parseEntryKey(key);
      return entry?.type === 'owner' ? [entry.child] : [];
    });
    if (owners.length === 0 && !changes.some(({ key }) => key === entryKey.replicas())) {
      // The feed may have reached its head with these changes, and a term waits for this.
      if (this.#isReportDue) t.afterCommit(() => this.reportTerm());
      return;
    }
    const state = this.#stateOf(t);
    const rows = owners.map((child): [string, OwnerAttributes | undefined] => [child, this.#ownerOf(t, child)]);
    t.afterCommit(() => this.#applyDecisions(state, rows));
  }

  /**
   * Reports again all sums that contain a child which this node has begun or ceased to own, and then the term. Does nothing while some of this can't be
   * reported yet. The caller calls again whenever more may be possible.
   */
  reportTerm(): void {
    const { term } = this.#state;
    if (!this.hasReplicas || !this.#isReportDue) return;
    const { store, upstream, recountChildren } = this.#ports;
    // The term may arrive before the decisions of the term: a reconciliation sends rows in any order, and a row that the parent has written again comes after
    // the term. So this node reports the term only when the feed has reached its head.
    const { incarnation, cursor, seenHead } = store.read((reader) => upstream.resume(reader));
    if (incarnation === '' || cursor < seenHead) return;
    if (!recountChildren([...this.#unreported])) return;
    this.#unreported.clear();
    if (this.#reportedTerm === term) return;
    store.write((t) => this.#report(t, entryKey.replicaTerm(), { term }));
    this.#reportedTerm = term;
  }

  /**
   * True if the term, or a change of the owned children, is not reported yet. The parent may grant a child under a term that this node has already reported. So
   * it is not enough to compare the terms.
   */
  get #isReportDue(): boolean {
    return this.#reportedTerm !== this.#state.term || this.#unreported.size > 0;
  }

  /** Applies decisions of the parent, after the commit that stored them. */
  #applyDecisions(state: ReplicasAttributes, rows: readonly [string, OwnerAttributes | undefined][]): void {
    const { children, replica, endSession } = this.#ports;
    const affected = new Set(rows.map(([child]) => child));
    // The replica that leads owns all children without an owner row. So a new lead may affect every child.
    if (state.lead !== this.#state.lead) for (const child of children()) affected.add(child);
    const ownedBefore = new Map([...affected].map((child) => [child, this.owns(child)]));
    this.#state = state;
    for (const [child, row] of rows) this.#owners.set(child, row);
    for (const child of affected) if (this.owns(child) !== ownedBefore.get(child)) this.#unreported.add(child);
    for (const [child, row] of rows) {
      if (row && row.owner !== replica && this.#sequenceHere(child) < row.sequence) {
        endSession(child, `the child attached to replica ${row.owner}`);
      }
    }
    this.reportTerm();
  }

  /** Returns the sequence of the child's last attachment to this node. -1: the child has never attached to this node. */
  #sequenceHere(child: string): number {
    const { store, outbox } = this.#ports;
    return store.read((reader) => {
      const row = outbox.get(reader, hash128(entryKey.attach(child)));
      return row?.content ? attributesOf<AttachAttributes>(outbox.content(reader, row.content)).sequence : -1;
    });
  }

  #cachedOwner(child: string): OwnerAttributes | undefined {
    if (!this.#owners.has(child)) {
      this.#owners.set(
        child,
        this.#ports.store.read((reader) => this.#ownerOf(reader, child)),
      );
    }
    return this.#owners.get(child);
  }

  #ownerOf(reader: Reader, child: string): OwnerAttributes | undefined {
    return this.#row<OwnerAttributes>(reader, entryKey.owner(child));
  }

  #stateOf(reader: Reader): ReplicasAttributes {
    return this.#row<ReplicasAttributes>(reader, entryKey.replicas()) ?? { term: 0, lead: 0 };
  }

  #row<T>(reader: Reader, key: string): T | undefined {
    const content = entryContent(reader, this.#ports.upstream.sound, key);
    return content && attributesOf<T>(content);
  }

  #report(t: Transaction, key: string, row: AttachAttributes | ReplicaTermAttributes): void {
    this.#ports.outbox.put(t, { key, attributes: text(stableStringify(row)), body: new Uint8Array(0) }, 0);
  }
}
