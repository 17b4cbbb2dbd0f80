/**
 * The parent's side of replicas. Each replica reports which children attach to it. ownership.ts decides which replica owns each child, and this file sends the
 * decisions to all replicas, in their mailboxes. A group begins when a member reports an attachment for the first time. Children without replicas are in no
 * group.
 *
 * When does a term count as reported? A feed has each row in its newest form. A row that the replica wrote before the term, and wrote again since, comes after
 * the term in the feed. So this node accepts a term only when the feed has reached its head: then everything that the replica reported before the term has
 * arrived.
 *
 * The shares of the members in the sums of this node are frozen for at most 10 s, in two cases:
 * - The group changes. The old owner leaves a child out before the new owner counts the child, and a sum in between would lack the child.
 * - The feed of a member is being reconciled. Then only the share of this member is frozen. Its rows are of two histories. If the store of the member was
 *   restored from an older copy, the rows that the member reports now may arrive before this node can see that the member's term is too low.
 *
 * A share can stay as it was only if this node knows the earlier share. For a new target, and after a start, this node does not know it. In these cases, and
 * after the 10 s, a member whose feed is being reconciled adds nothing until the reconciliation ends.
 */

import type { OwnerAttributes, ReplicasAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AttachAttributes, ReplicaTermAttributes } from '../../core/entries/up-attributes.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { splitReplica, withReplica } from '../../core/identity/replica.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import { removePrefix } from '../../core/store/remove-prefix.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import type { Mailboxes } from '../mailbox/mailboxes.ts';
import { countedTopic } from '../work/topics.ts';
import { type ChildOwnership, type GroupState, Ownership } from './ownership.ts';

export interface ReplicaGroupsPorts {
  readonly clock: Clock;
  readonly mailboxes: Mailboxes;
  readonly store: Pick<Store, 'announce'>;
  isConnected(child: string): boolean;
  /** Runs a transaction of the node's store. */
  write(act: (t: Transaction) => void): void;
}

interface ReplicaGroup {
  readonly name: string;
  readonly ownership: Ownership;
  /** The monotonic time at which the freeze of the members' shares began. */
  frozenSinceMs: number | undefined;
  freezeTimer: Timer | undefined;
  /** Runs while a change of the group that began before this node started may still be going on. */
  restartTimer: Timer | undefined;
  /** Members whose feeds are being reconciled, each with the timer that ends the freeze of its share. Undefined: the freeze has ended. */
  readonly mixed: Map<number, Timer | undefined>;
}

const nul = Buffer.of(0);
/**
 * The longest freeze. A change among replicas, or the reconciliation of a replica's feed, normally takes less time. A connected member that does not answer
 * delays new sums by at most this time.
 */
const frozenMaxMs = 10_000;

export class ReplicaGroups {
  readonly #ports: ReplicaGroupsPorts;
  readonly #groups = new Map<string, ReplicaGroup>();

  constructor(ports: ReplicaGroupsPorts) {
    this.#ports = ports;
  }

  /** Called once, at the start of the node. */
  load(reader: Reader): void {
    const prefix = prefixOf('replicaGroup');
    for (const [key, value] of reader.scan(prefixRange(prefix))) {
      const name = asText(key.subarray(prefix.length));
      const childPrefix = childKey(name, '');
      const children = [...reader.scan(prefixRange(childPrefix))].map(([rowKey, record]): [string, ChildOwnership] => [
        asText(rowKey.subarray(childPrefix.length)),
        JSON.parse(asText(record)) as ChildOwnership,
      ]);
      const ownership = this.#ownership(JSON.parse(asText(value)) as GroupState, new Map(children));
      const group = groupWith(name, ownership);
      // A member in the middle of a reconciliation is left out until the end, because this node no longer knows the member's earlier share.
      for (const member of this.#ports.mailboxes.replicasOf(name)) {
        if (this.#isReconciling(reader, member)) group.mixed.set(splitReplica(member).replica, undefined);
      }
      this.#groups.set(name, group);
      if (ownership.isAnswered) continue;
      // The group is not frozen: this node no longer knows the earlier shares, so a freeze would leave out all members for as long as one of them is away.
      group.restartTimer = this.#ports.clock.after(frozenMaxMs, () => {
        group.restartTimer = undefined;
        this.#enqueueRecount(this.#ports.mailboxes.replicasOf(name));
      });
    }
  }

  stop(): void {
    for (const group of this.#groups.values()) stopTimers(group);
  }

  /** Returns whether the reports of the child are part of the sums of this node. */
  counts(child: string): boolean {
    const { name, replica } = splitReplica(child);
    return this.#groups.get(name)?.ownership.counts(replica) ?? true;
  }

  /**
   * Returns whether the child's rows are of two histories. They may then include children that other replicas count, so the child adds nothing to a sum that is
   * computed again.
   */
  isMixed(child: string): boolean {
    const { name, replica } = splitReplica(child);
    return this.#groups.get(name)?.mixed.has(replica) ?? false;
  }

  /** Returns whether the share of the child in sums stays as it was. */
  isFrozen(child: string): boolean {
    const { name, replica } = splitReplica(child);
    const group = this.#groups.get(name);
    if (!group) return false;
    // When a member no longer counts, others may be granted its children, so its earlier share must not stay.
    return group.frozenSinceMs !== undefined || (group.mixed.get(replica) !== undefined && this.counts(child));
  }

  /**
   * Returns whether a node below may be going from one of the child's replicas to another, also if this began before this node started. Perhaps no replica
   * reports that node now.
   */
  isChanging(child: string): boolean {
    return this.isFrozen(child) || this.#groups.get(splitReplica(child).name)?.restartTimer !== undefined;
  }

  /** Returns whether the child is in a group: the child, or another child of its name, has reported as a replica. */
  has(child: string): boolean {
    return this.#groups.has(splitReplica(child).name);
  }

  /** Returns the replica of a child's group to which `below` attached last. */
  homeOf(child: string, below: string): string | undefined {
    const { name } = splitReplica(child);
    const at = this.#groups.get(name)?.ownership.children.get(below)?.at;
    return at === undefined ? undefined : withReplica(name, at);
  }

  // -------------------------------------------------------------------------------------------------------- inputs

  /** Runs in the transaction that applies reports of a child, or moves the cursor of the child's feed. */
  received(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const { name, replica } = splitReplica(child);
    for (const { key, after } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'attach' && !after)
        this.#decide(t, name, (ownership) => ownership.attachmentRemoved(replica, entry.child));
      if (entry?.type === 'replicaTerm' && !after) this.#decide(t, name, (ownership) => ownership.termLost(replica));
      if (!after) continue;
      if (entry?.type === 'attach') {
        const { sequence, role } = attributesOf<AttachAttributes>(after);
        this.#decide(t, name, (ownership) => {
          if (!ownership.children.has(entry.child)) this.#attachedToOthers(t, child, entry.child, ownership);
          ownership.attached(replica, entry.child, sequence, role);
        });
      } else if (entry?.type === 'replicaTerm') {
        const { term } = attributesOf<ReplicaTermAttributes>(after);
        this.#decide(t, name, (ownership) => ownership.termReported(replica, term, false));
      }
    }
    this.#readTerm(t, child);
  }

  /** Accepts the term of the child if the feed has reached its head. */
  #readTerm(t: Transaction, child: string): void {
    const { name, replica } = splitReplica(child);
    const group = this.#groups.get(name);
    const feed = this.#ports.mailboxes.get(child)?.consumer;
    if (!group || !feed) return;
    const { ownership } = group;
    const { incarnation, cursor, seenHead } = feed.resume(t);
    const isMixed = this.#isReconciling(t, child);
    if (isMixed !== group.mixed.has(replica)) t.afterCommit(() => this.#mixedChanged(group, child, isMixed));
    if (incarnation === '' || cursor < seenHead) return;
    const term = this.#reportedTermOf(t, child);
    if (term !== ownership.reportedTermOf(replica)) this.#decide(t, name, (own) => own.termReported(replica, term));
  }

  /**
   * Returns whether the child's feed is being reconciled: its resume tuple has no incarnation, and its rows are of two histories. Without an epoch, there are
   * no rows.
   */
  #isReconciling(reader: Reader, child: string): boolean {
    const resume = this.#ports.mailboxes.get(child)?.consumer.resume(reader);
    return resume !== undefined && resume.incarnation === '' && resume.epoch !== '';
  }

  #mixedChanged({ mixed }: ReplicaGroup, child: string, isMixed: boolean): void {
    const { clock, store } = this.#ports;
    const { replica } = splitReplica(child);
    const timer = mixed.get(replica);
    if (isMixed) {
      const endFreeze = () => {
        mixed.set(replica, undefined);
        this.#enqueueRecount([child]);
      };
      mixed.set(replica, clock.after(frozenMaxMs, endFreeze));
    } else {
      timer?.stop();
      mixed.delete(replica);
    }
    store.announce(countedTopic, [child]);
  }

  /**
   * For a child that has no record at this node: passes on the attachments that other replicas than `reporter` have reported. Their sequence may be higher,
   * because the store of `reporter` may have been restored from an older copy.
   */
  #attachedToOthers(reader: Reader, reporter: string, child: string, ownership: Ownership): void {
    for (const member of this.#ports.mailboxes.replicasOf(reporter)) {
      const reported = this.#ports.mailboxes.get(member)?.consumer.sound;
      const row = member === reporter ? undefined : reported?.get(reader, hash128(entryKey.attach(child)));
      if (!reported || !row?.content) continue;
      const { sequence, role } = attributesOf<AttachAttributes>(reported.content(reader, row.content));
      ownership.attached(splitReplica(member).replica, child, sequence, role);
    }
  }

  /** Call it when the child has rows of its mailbox that this node did not send, or no longer has: the store of this node was restored or lost. */
  hasOtherHistory(child: string): void {
    const { name, replica } = splitReplica(child);
    if (!this.#groups.has(name)) return;
    this.#ports.write((t) => this.#decide(t, name, (ownership) => ownership.hasOtherHistory(replica)));
  }

  connectionChanged(child: string, connected: boolean): void {
    const { name, replica } = splitReplica(child);
    if (!this.#groups.has(name)) return;
    this.#ports.write((t) => this.#decide(t, name, (ownership) => ownership.connection(replica, connected)));
  }

  /** Runs in the transaction that makes the mailbox of a relay. If the relay has replicas, its mailbox gets all decisions. */
  relayAdded(t: Transaction, child: string): void {
    const { name } = splitReplica(child);
    const group = this.#groups.get(name);
    if (!group) return;
    for (const [below, record] of group.ownership.children)
      this.#send(t, child, entryKey.owner(below), ownerRow(record));
    this.#send(t, child, entryKey.replicas(), stateRow(group.ownership));
  }

  /** Runs in the transaction that drops the child's mailbox. The records of the group are removed with the last replica of the name. */
  removed(t: Transaction, child: string): void {
    const { name } = splitReplica(child);
    if (this.#ports.mailboxes.replicasOf(name).length > 0) return;
    t.remove(groupKey(name));
    removePrefix(t, childKey(name, ''));
    t.afterCommit(() => {
      const group = this.#groups.get(name);
      if (group) stopTimers(group);
      this.#groups.delete(name);
    });
  }

  // ----------------------------------------------------------------------------------------------------- decisions

  #decide(t: Transaction, name: string, act: (ownership: Ownership) => void): void {
    const group = this.#groupOf(name);
    const { ownership } = group;
    const members = this.#ports.mailboxes.replicasOf(name);
    const counted = members.filter((member) => this.counts(member));
    const before = stableStringify(ownership.state);
    act(ownership);
    const changed = ownership.takeChanged();
    const state = stableStringify(ownership.state);
    if (state !== before || changed.length > 0) t.put(groupKey(name), text(state));
    for (const child of changed) {
      const record = ownership.children.get(child);
      if (!record) {
        this.#forget(t, name, child, members);
        continue;
      }
      t.put(childKey(name, child), text(JSON.stringify(record)));
      for (const member of members) this.#send(t, member, entryKey.owner(child), ownerRow(record));
    }
    // The term goes last: a replica that has received the term has received all decisions of the term.
    if (state !== before) for (const member of members) this.#send(t, member, entryKey.replicas(), stateRow(ownership));
    const changedMembers = members.filter((member) => counted.includes(member) !== this.counts(member));
    t.afterCommit(() => this.#updateFreeze(group, changedMembers.length > 0));
  }

  #forget(t: Transaction, name: string, child: string, members: readonly string[]): void {
    t.remove(childKey(name, child));
    for (const member of members)
      this.#ports.mailboxes.get(member)?.producer.remove(t, hash128(entryKey.owner(child)), 0);
  }

  #ownership(...stored: readonly [] | readonly [GroupState, ReadonlyMap<string, ChildOwnership>]): Ownership {
    const [state, children] = stored;
    return new Ownership(() => this.#ports.clock.wallMs(), state, children);
  }

  #groupOf(name: string): ReplicaGroup {
    const existing = this.#groups.get(name);
    if (existing) return existing;
    const group = groupWith(name, this.#ownership());
    this.#groups.set(name, group);
    for (const member of this.#ports.mailboxes.replicasOf(name)) {
      group.ownership.connection(splitReplica(member).replica, this.#ports.isConnected(member));
    }
    return group;
  }

  /** Begins or ends the freeze of the group. Sums stay as they were from the first step of a change to the last step. */
  #updateFreeze(group: ReplicaGroup, countsChanged: boolean): void {
    const { clock, mailboxes, store } = this.#ports;
    const nowMs = clock.monotonicMs();
    const sinceMs = group.frozenSinceMs ?? nowMs;
    const isFrozen = !group.ownership.isSettled && nowMs - sinceMs < frozenMaxMs;
    const wasFrozen = group.frozenSinceMs !== undefined;
    if (isFrozen) {
      group.frozenSinceMs = sinceMs;
      group.freezeTimer ??= clock.after(frozenMaxMs, () => {
        group.freezeTimer = undefined;
        group.frozenSinceMs = undefined;
        this.#enqueueRecount(mailboxes.replicasOf(group.name));
      });
      return;
    }
    group.freezeTimer?.stop();
    group.freezeTimer = undefined;
    group.frozenSinceMs = undefined;
    if (wasFrozen || countsChanged) store.announce(countedTopic, mailboxes.replicasOf(group.name));
  }

  /** Announces the recount in a queued write. Timers use this, because the disk may be full: the write waits until there is room for the new sums. */
  #enqueueRecount(replicas: readonly string[]): void {
    this.#ports.write((t) => {
      for (const replica of replicas) t.announce(countedTopic, replica);
    });
  }

  #send(t: Transaction, member: string, key: string, row: OwnerAttributes | ReplicasAttributes): void {
    const attributes = text(stableStringify(row));
    this.#ports.mailboxes.get(member)?.producer.put(t, { key, attributes, body: new Uint8Array(0) }, 0);
  }

  #reportedTermOf(reader: Reader, member: string): number {
    const content = entryContent(reader, this.#ports.mailboxes.get(member)?.reported, entryKey.replicaTerm());
    return content ? attributesOf<ReplicaTermAttributes>(content).term : 0;
  }
}

function ownerRow({ owner, granted, sequence }: ChildOwnership): OwnerAttributes {
  return { owner, granted, sequence };
}

function stateRow({ state: { term, lead } }: Ownership): ReplicasAttributes {
  return { term, lead };
}

function groupWith(name: string, ownership: Ownership): ReplicaGroup {
  return {
    name,
    ownership,
    frozenSinceMs: undefined,
    freezeTimer: undefined,
    restartTimer: undefined,
    mixed: new Map(),
  };
}

function stopTimers({ freezeTimer, restartTimer, mixed }: ReplicaGroup): void {
  freezeTimer?.stop();
  restartTimer?.stop();
  for (const timer of mixed.values()) timer?.stop();
}

function groupKey(name: string): Uint8Array {
  return concat(prefixOf('replicaGroup'), text(name));
}

function childKey(name: string, child: string): Uint8Array {
  return concat(prefixOf('replicaChild'), text(name), nul, text(child));
}
