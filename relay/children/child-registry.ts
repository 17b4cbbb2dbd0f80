/** The children of this node, with what the scheduler needs to know about each. The registry reads them from the inventory and from their reports. */

import { entryKey } from '../../core/entries/entry-keys.ts';
import type { ChildRole } from '../../core/entries/entry-kind.ts';
import { childPath } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import {
  emptyLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  mergeLabelSummaries,
} from '../../core/match/label-summary.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import type { Timer } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { ChildFeeds } from '../../core/session/parent-ports.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { SegmentTree } from '../../core/summary/segment-tree.ts';
import type { Mailbox } from '../mailbox/mailboxes.ts';
import { markDirty } from '../work/dirty.ts';
import { childRemovedTopic, childTopic } from '../work/topics.ts';
import { type AgentDestinationsPorts, agentDestinations } from './agent-destinations.ts';
import type { Child } from './children.ts';
import { type InheritedPorts, sendInherited } from './inherited-entries.ts';
import { inheritedBelow } from './inherited-labels.ts';
import { LabelSummaryPublisher, type LabelSummaryPublisherPorts } from './label-summary-publisher.ts';
import { forgetHeldLabelSummary } from './label-summary-shrink-guard.ts';
import { OwnedLabelSummary } from './owned-label-summary.ts';
import { RelayLabels, type RelayLabelsPorts, reportedLabelSummary } from './relay-labels.ts';

export interface ChildRegistryPorts
  extends LabelSummaryPublisherPorts,
    InheritedPorts,
    AgentDestinationsPorts,
    RelayLabelsPorts {
  /** Called in the transaction that adds a relay as a child. */
  relayAdded(t: Transaction, child: string): void;
  /** Shows which children this node counts, if relays have replicas. */
  readonly counting: { readonly isOtherReplica: boolean; counts(child: string): boolean };
}

export class ChildRegistry {
  readonly children = new Map<string, Child>();
  readonly #ports: ChildRegistryPorts;
  readonly #publisher: LabelSummaryPublisher;
  readonly #owned = new OwnedLabelSummary();
  readonly #reported: RelayLabels;
  /** Children whose part of the summary comes from a transaction that may have failed. */
  readonly #uncommitted = new Set<string>();
  #rereadTimer: Timer | undefined;
  readonly #labels = new SegmentTree<LabelSummary>((a, b) => mergeLabelSummaries([a, b]));

  constructor(ports: ChildRegistryPorts) {
    this.#ports = ports;
    this.#reported = new RelayLabels(ports);
    this.#publisher = new LabelSummaryPublisher({ ...ports, counted: (attributes) => this.#owned.beside(attributes) });
  }

  /** Runs at the start: reads all children with a mailbox, and the agents that the inventory names. */
  load(t: Transaction): void {
    for (const { child } of this.#ports.mailboxes.all()) this.#read(t, child);
    for (const name of this.#ports.inventory.syncTargets()) {
      if (this.children.has(name)) continue;
      this.#ports.mailboxes.ensure(t, name, 'agent');
      this.#read(t, name);
    }
    // Since the last start, the labels of this node may have changed, and times of `evictAfter` may have passed. If the published label summary changes, every
    // child is matched again.
    this.#count(t, [...this.children.keys()]);
    if (this.#publisher.begin(t, this.#summary())) for (const name of this.children.keys()) markDirty(t, 'child', name);
  }

  /** Reads one child again. Returns false if the child has left for good; then its mailbox is dropped. */
  refresh(t: Transaction, name: string): boolean {
    const { mailboxes } = this.#ports;
    const mailbox = mailboxes.get(name);
    if (mailboxes.isLeaving(name) || (mailbox?.role !== 'relay' && !this.#isNamed(t, name))) {
      this.#drop(t, name);
      return false;
    }
    if (!mailbox) mailboxes.ensure(t, name, 'agent');
    this.#read(t, name);
    this.#count(t, [name]);
    this.#publish(t);
    t.announce(childTopic, name);
    return true;
  }

  #drop(t: Transaction, name: string): void {
    const { mailboxes, evictions, claims } = this.#ports;
    this.children.delete(name);
    this.#owned.set(name, undefined);
    evictions.forget(name);
    claims.forget(name);
    mailboxes.drop(t, name);
    forgetHeldLabelSummary(t, name);
    const replicas = mailboxes.replicasOf(name);
    const [first] = replicas;
    if (first === undefined) this.#labels.delete(splitReplica(name).name);
    else this.#contribute(first, this.labelsOf(t, first));
    // The other replicas of a relay now count what this one has counted.
    for (const replica of replicas) markDirty(t, 'child', replica);
    this.#count(t, replicas);
    this.#publish(t);
    t.announce(childTopic, name);
    t.announce(childRemovedTopic, name);
  }

  /**
   * Call it in the transaction that changes the inventory or the report of a child, before `refresh`. So the same write reports a wider summary to the parent.
   */
  widen(t: Transaction, name: string): void {
    this.#contribute(name, this.labelsOf(t, name));
    this.#count(t, [name]);
    this.#uncommitted.add(name);
    t.afterCommit(() => this.#uncommitted.delete(name));
    this.#rereadTimer ??= this.#ports.clock.after(0, () => this.#rereadUncommitted());
    this.#publish(t);
  }

  /** Runs when every transaction has ended. A child that is still in the set belongs to a transaction that failed, so its labels are read again. */
  #rereadUncommitted(): void {
    this.#rereadTimer = undefined;
    if (this.#uncommitted.size === 0) return;
    this.#ports.write((t) => {
      for (const name of this.#uncommitted) this.#contribute(name, this.labelsOf(t, name));
      this.#count(t, [...this.#uncommitted]);
      this.#uncommitted.clear();
      this.#publish(t);
    });
  }

  /** Call it when this node starts or stops counting these children. */
  recount(t: Transaction, names: readonly string[]): void {
    // A relay's owned label summary may arrive together with the decision that this node counts the relay. Sums use both before the scheduler reads the relay
    // again. So this function reads the summary now.
    for (const name of names) {
      const mailbox = this.#ports.mailboxes.get(name);
      const child = this.children.get(name);
      const counted = mailbox?.role === 'relay' && child ? this.#reported.countedOf(t, mailbox) : undefined;
      if (child && counted) this.children.set(name, { ...child, counted });
    }
    this.#count(t, names);
    this.#publishOwnedLabelSummary(t);
  }

  #count(t: Transaction, names: readonly string[]): void {
    const { counting, mailboxes } = this.#ports;
    let recounted = names;
    if (!this.#owned.isNeeded) {
      const isNeeded = (name: string) =>
        this.children.get(name)?.counted !== undefined || mailboxes.replicasOf(name).length > 1;
      if (!counting.isOtherReplica && !names.some(isNeeded)) return;
      this.#owned.need();
      recounted = [...this.children.keys()];
    }
    for (const name of recounted) {
      const mailbox = mailboxes.get(name);
      const labels = mailbox?.role === 'relay' ? this.#reported.countedOf(t, mailbox) : undefined;
      this.#owned.set(name, counting.counts(name) ? (labels ?? this.labelsOf(t, name)) : undefined);
    }
  }

  #publish(t: Transaction): void {
    this.#publisher.publish(t, this.#summary());
    this.#publishOwnedLabelSummary(t);
  }

  #publishOwnedLabelSummary(t: Transaction): void {
    if (this.#owned.isNeeded) this.#publisher.publishOwnedLabelSummary(t);
  }

  stop(): void {
    this.#rereadTimer?.stop();
    this.#publisher.stop();
    this.#ports.evictions.stop();
  }

  /**
   * Returns the feeds of a child that has sent a Hello. An inventory must name an agent; a relay needs only its certificate. Throws if the child is not allowed
   * to join.
   */
  feedsOf(t: Transaction, name: string, role: ChildRole): ChildFeeds {
    const existing = this.#ports.mailboxes.get(name);
    if (this.#ports.mailboxes.isLeaving(name)) {
      throw new BanyanError('Forbidden', `"${childPath(this.#ports.path, name)}" was removed here just now`);
    }
    if (existing && existing.role !== role) {
      const holder = existing.role === 'agent' ? 'an agent' : 'a relay';
      throw new BanyanError(
        'AlreadyExists',
        `the name "${name}" is taken by ${holder}: give this ${role} another name`,
      );
    }
    if (!existing && role === 'agent') {
      throw new BanyanError(
        'NotFound',
        `there is no SyncTarget "${name}" here, nor one with spec.attachTo "${childPath(this.#ports.path, name)}" in an inventory space here or above: create one, with its Location, before the agent joins`,
      );
    }
    const { producer, consumer, reported } = existing ?? this.#addRelay(t, name);
    consumer.restartIfAllQuarantined(t);
    // Without a label summary of the relay, this node does not send `ready` to it. A relay whose store was restored waits for `ready` before it reports
    // anything. Both would wait forever. So the relay's up feed begins again with its first revision, and the relay reports its labels.
    if (role === 'relay' && !reportedLabelSummary(t, reported)) consumer.restartFeed(t);
    return { producer, consumer };
  }

  /** Call it when the labels from above, the revocations or the issuers of tokens have changed. Marks all children, because all of them inherit these. */
  inheritedChanged(t: Transaction): void {
    for (const name of this.children.keys()) markDirty(t, 'child', name);
  }

  /** Call it when the claims of a child, or the inventory that allows claims, have changed. `name`: without a replica number. */
  claimsChanged(t: Transaction, name: string): void {
    for (const replica of this.#ports.mailboxes.replicasOf(name)) {
      if (this.#ports.mailboxes.get(replica)?.role !== 'relay') continue;
      markDirty(t, 'child', replica);
      this.widen(t, replica);
    }
  }

  #addRelay(t: Transaction, name: string): Mailbox {
    const mailbox = this.#ports.mailboxes.ensure(t, name, 'relay');
    markDirty(t, 'child', name);
    this.#ports.relayAdded(t, name);
    return mailbox;
  }

  #read(t: Transaction, name: string): void {
    const mailbox = this.#ports.mailboxes.get(name);
    if (!mailbox) return;
    if (mailbox.role === 'agent') {
      const { destinations, labels } = agentDestinations(t, name, this.#ports);
      sendInherited(t, mailbox, this.#ports);
      this.children.set(name, { name, role: 'agent', destinations });
      this.#contribute(name, labels);
      return;
    }
    const { labels, refused } = this.#reported.ofRelay(t, name);
    if (refused) this.#ports.claims.note(t, name, refused);
    const hasReportedLabels = this.#reported.ofReplica(t, mailbox) !== undefined;
    const counted = this.#reported.countedOf(t, mailbox);
    const reported = { ...(labels ? { labels } : {}), ...(counted && counted !== labels ? { counted } : {}) };
    this.children.set(name, { name, role: 'relay', destinations: [], hasReportedLabels, ...reported });
    this.#contribute(name, labels ?? emptyLabelSummary);
    sendInherited(t, mailbox, this.#ports);
    const path = childPath(this.#ports.path, name);
    const tree = { path, labels: inheritedBelow(path, this.#ports.inherited(), {}) };
    mailbox.producer.put(
      t,
      { key: entryKey.tree(), attributes: text(stableStringify(tree)), body: new Uint8Array(0) },
      0,
    );
  }

  #isNamed(reader: Reader, name: string): boolean {
    return this.#ports.inventory.hasSyncTarget(name) || this.#ports.rowsAt(reader, name).length > 0;
  }

  /** Returns the label summary of the Locations at a child and below it, as far as this node knows them. */
  labelsOf(reader: Reader, name: string): LabelSummary {
    const mailbox = this.#ports.mailboxes.get(name);
    if (mailbox?.role === 'relay') return this.#reported.ofRelay(reader, name).labels ?? emptyLabelSummary;
    return agentDestinations(reader, name, this.#ports).labels;
  }

  /** Sets the child's part of this node's label summary. An unchanged part costs no merge. */
  #contribute(child: string, labels: LabelSummary): void {
    const { name } = splitReplica(child);
    const before = this.#labels.get(name);
    if (before && Buffer.compare(encodeLabelSummary(before), encodeLabelSummary(labels)) === 0) return;
    this.#labels.set(name, labels);
  }

  #summary(): LabelSummary {
    return this.#labels.total() ?? emptyLabelSummary;
  }
}
