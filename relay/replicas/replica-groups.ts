/**
 * The parent's side of siblings: it hears from each of them which children attach to it, decides by ownership.ts to whom each belongs, and tells all of
 * them in their mailboxes. A group begins with the first word of one of its members; children without siblings are in none.
 *
 * A feed has the latest form of each row: what a sibling told before its term, and rewrote since, comes behind the term. So a term is taken as said when
 * the feed has come to its head, where it is what the sibling itself has.
 *
 * While a group changes, what its members add to sums here stays as it was, for a bounded time: the old owner leaves a child out before the new one takes
 * it in, and a sum between the two would be of too few. So does what one member adds while its feed is reconciled, for as long: its rows are of two
 * histories, and what it says now, put back to an older copy, may be here before the term of that. Where what it added is not known, of a new target or
 * after a start, and when the time is over, it adds nothing until the end.
 */

import type { OwnerAttributes, ReplicasAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AttachAttributes, ReplicaTermAttributes } from '../../core/entries/up-attributes.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { splitReplica, withReplica } from '../../core/identity/replica.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import type { Mailboxes } from '../mailbox/mailboxes.ts';
import { countedTopic } from '../work/topics.ts';
import { type ChildOwnership, type GroupState, Ownership } from './ownership.ts';

export interface ReplicaGroupsPorts {
  readonly clock: Clock;
  readonly mailboxes: Mailboxes;
  readonly store: Pick<Store, 'announce'>;
  isConnected(child: string): boolean;
  /** A transaction of the node's store. */
  write(act: (t: Transaction) => void): void;
}

interface ReplicaGroup {
  readonly name: string;
  readonly ownership: Ownership;
  /** Since when what its members add stays as it was. */
  frozenSinceMs: number | undefined;
  thaw: Timer | undefined;
  /** Runs out when a change is over in whose middle this node ended. */
  resumed: Timer | undefined;
  /** Members whose rows are of two histories, with the end of the time for which what they add stays as it was; undefined: it is over. */
  readonly mixed: Map<number, Timer | undefined>;
}

const nul = Buffer.of(0);
/**
 * As long as a change among siblings, or a reconciliation with one, may take; a member that is connected and does not answer holds the sums back for no
 * longer.
 */
const frozenMaxMs = 10_000;

export class ReplicaGroups {
  readonly #ports: ReplicaGroupsPorts;
  readonly #groups = new Map<string, ReplicaGroup>();

  constructor(ports: ReplicaGroupsPorts) {
    this.#ports = ports;
  }

  /** At start. */
  load(reader: Reader): void {
    const prefix = prefixOf('replicaGroup');
    for (const [key, value] of reader.scan(prefixRange(prefix))) {
      const name = asText(key.subarray(prefix.length));
      const at = childKey(name, '');
      const children = [...reader.scan(prefixRange(at))].map(([childAt, held]): [string, ChildOwnership] => [
        asText(childAt.subarray(at.length)),
        JSON.parse(asText(held)) as ChildOwnership,
      ]);
      const ownership = this.#ownership(JSON.parse(asText(value)) as GroupState, new Map(children));
      const group = groupWith(name, ownership);
      // Who was in the middle of a reconciliation is left out until its end: how what it added stood before, nobody knows now.
      for (const member of this.#ports.mailboxes.replicasOf(name)) {
        if (this.#isBetween(reader, member)) group.mixed.set(splitReplica(member).replica, undefined);
      }
      this.#groups.set(name, group);
      if (ownership.isAnswered) continue;
      // Not frozen: how what its members add stood before, nobody knows now, and one that is away for long would keep all of it out.
      group.resumed = this.#ports.clock.after(frozenMaxMs, () => {
        group.resumed = undefined;
        this.#changedInTime(this.#ports.mailboxes.replicasOf(name));
      });
    }
  }

  stop(): void {
    for (const group of this.#groups.values()) stopTimers(group);
  }

  /** What a child told is part of the sums of this node. */
  counts(child: string): boolean {
    const { name, replica } = splitReplica(child);
    return this.#groups.get(name)?.ownership.counts(replica) ?? true;
  }

  /** What it tells is of two histories, and may be of what others count: it adds nothing to a sum that is made anew. */
  isMixed(child: string): boolean {
    const { name, replica } = splitReplica(child);
    return this.#groups.get(name)?.mixed.has(replica) ?? false;
  }

  /** What a child adds to sums stays as it was. */
  isFrozen(child: string): boolean {
    const { name, replica } = splitReplica(child);
    const group = this.#groups.get(name);
    if (!group) return false;
    // Once a member does not count, others may be given what was its own.
    return group.frozenSinceMs !== undefined || (group.mixed.get(replica) !== undefined && this.counts(child));
  }

  /** Something below goes from one of its siblings to another, or did when this node ended, and may be told of by none of them. */
  isChanging(child: string): boolean {
    return this.isFrozen(child) || this.#groups.get(splitReplica(child).name)?.resumed !== undefined;
  }

  /** The siblings of a child, itself among them; undefined for one that has none. */
  membersOf(child: string): readonly string[] | undefined {
    const { name } = splitReplica(child);
    return this.#groups.has(name) ? this.#ports.mailboxes.replicasOf(name) : undefined;
  }

  /** The siblings that share a name, the one to which their child is attached before the others. */
  nearest(name: string, child?: string): readonly string[] | undefined {
    const members = this.#ports.mailboxes.replicasOf(name);
    if (members.length < 2) return undefined;
    const at = child === undefined ? undefined : this.#groups.get(name)?.ownership.children.get(child)?.at;
    const home = at === undefined ? undefined : withReplica(name, at);
    return home !== undefined && members.includes(home)
      ? [home, ...members.filter((member) => member !== home)]
      : members;
  }

  // -------------------------------------------------------------------------------------------------------- inputs

  /** In the transaction that applies what a child said, or moves the cursor of its feed. */
  pass(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const { name, replica } = splitReplica(child);
    for (const { key, after } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'attach' && !after)
        this.#decide(t, name, (ownership) => ownership.left(replica, entry.child));
      if (entry?.type === 'replicaTerm' && !after) this.#decide(t, name, (ownership) => ownership.forgot(replica));
      if (!after) continue;
      if (entry?.type === 'attach') {
        const { sequence, role } = attributesOf<AttachAttributes>(after);
        this.#decide(t, name, (ownership) => {
          if (!ownership.children.has(entry.child)) this.#recall(t, child, entry.child, ownership);
          ownership.attached(replica, entry.child, sequence, role);
        });
      } else if (entry?.type === 'replicaTerm') {
        const { term } = attributesOf<ReplicaTermAttributes>(after);
        this.#decide(t, name, (ownership) => ownership.said(replica, term, false));
      }
    }
    this.#hearTerm(t, child);
  }

  #hearTerm(t: Transaction, child: string): void {
    const { name, replica } = splitReplica(child);
    const group = this.#groups.get(name);
    const feed = this.#ports.mailboxes.get(child)?.consumer;
    if (!group || !feed) return;
    const { ownership } = group;
    const { incarnation, cursor, seenHead } = feed.resume(t);
    const isMixed = this.#isBetween(t, child);
    if (isMixed !== group.mixed.has(replica)) t.afterCommit(() => this.#mix(group, child, isMixed));
    if (incarnation === '' || cursor < seenHead) return;
    const term = this.#reportedTermOf(t, child);
    if (term !== ownership.reportedTermOf(replica)) this.#decide(t, name, (own) => own.said(replica, term));
  }

  /** Without an incarnation its rows are of two histories; without an epoch there are none. */
  #isBetween(reader: Reader, child: string): boolean {
    const resume = this.#ports.mailboxes.get(child)?.consumer.resume(reader);
    return resume !== undefined && resume.incarnation === '' && resume.epoch !== '';
  }

  #mix({ mixed }: ReplicaGroup, child: string, isMixed: boolean): void {
    const { clock, store } = this.#ports;
    const { replica } = splitReplica(child);
    const timer = mixed.get(replica);
    if (isMixed) {
      const over = () => {
        mixed.set(replica, undefined);
        this.#changedInTime([child]);
      };
      mixed.set(replica, clock.after(frozenMaxMs, over));
    } else {
      timer?.stop();
      mixed.delete(replica);
    }
    store.announce(countedTopic, child);
  }

  /** Of a child of which nothing is held, others than `sibling` may have said a higher sequence: who speaks now may have been put back. */
  #recall(reader: Reader, replica: string, child: string, ownership: Ownership): void {
    for (const member of this.#ports.mailboxes.replicasOf(replica)) {
      const said = this.#ports.mailboxes.get(member)?.consumer.sound;
      const row = member === replica ? undefined : said?.get(reader, hash128(entryKey.attach(child)));
      if (!said || !row?.content) continue;
      const { sequence, role } = attributesOf<AttachAttributes>(said.content(reader, row.content));
      ownership.attached(splitReplica(member).replica, child, sequence, role);
    }
  }

  /** The child has rows of its mailbox that are none of this node's: this node was put back, or lost its store. */
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

  /** A relay has a mailbox from now on: if it has siblings, it has to hear of all that was decided. */
  relayCame(t: Transaction, child: string): void {
    const { name } = splitReplica(child);
    const group = this.#groups.get(name);
    if (!group) return;
    for (const [held, place] of group.ownership.children) this.#tell(t, child, entryKey.owner(held), ownerRow(place));
    this.#tell(t, child, entryKey.replicas(), stateRow(group.ownership));
  }

  /** For good, with its mailbox. With the last of a name goes what is known of those that attached to them. */
  gone(t: Transaction, child: string): void {
    const { name } = splitReplica(child);
    if (this.#ports.mailboxes.replicasOf(name).length > 0) return;
    t.remove(groupKey(name));
    for (const [at] of [...t.scan(prefixRange(childKey(name, '')))]) t.remove(at);
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
      const held = ownership.children.get(child);
      if (!held) {
        this.#forget(t, name, child, members);
        continue;
      }
      t.put(childKey(name, child), text(JSON.stringify(held)));
      for (const member of members) this.#tell(t, member, entryKey.owner(child), ownerRow(held));
    }
    // Last: who has it has all that was decided by then.
    if (state !== before) for (const member of members) this.#tell(t, member, entryKey.replicas(), stateRow(ownership));
    const others = members.filter((member) => counted.includes(member) !== this.counts(member));
    t.afterCommit(() => this.#settled(group, others.length > 0));
  }

  #forget(t: Transaction, name: string, child: string, members: readonly string[]): void {
    t.remove(childKey(name, child));
    for (const member of members)
      this.#ports.mailboxes.get(member)?.producer.remove(t, hash128(entryKey.owner(child)), 0);
  }

  #ownership(...held: readonly [] | readonly [GroupState, ReadonlyMap<string, ChildOwnership>]): Ownership {
    const [state, children] = held;
    return new Ownership(() => this.#ports.clock.wallMs(), state, children);
  }

  #groupOf(name: string): ReplicaGroup {
    const known = this.#groups.get(name);
    if (known) return known;
    const group = groupWith(name, this.#ownership());
    this.#groups.set(name, group);
    for (const member of this.#ports.mailboxes.replicasOf(name)) {
      group.ownership.connection(splitReplica(member).replica, this.#ports.isConnected(member));
    }
    return group;
  }

  /** Sums stay as they were from the first step of a change to its last. */
  #settled(group: ReplicaGroup, countsChanged: boolean): void {
    const { clock, mailboxes, store } = this.#ports;
    const nowMs = clock.monotonicMs();
    const sinceMs = group.frozenSinceMs ?? nowMs;
    const frozen = !group.ownership.isSettled && nowMs - sinceMs < frozenMaxMs;
    const was = group.frozenSinceMs !== undefined;
    if (frozen) {
      group.frozenSinceMs = sinceMs;
      group.thaw ??= clock.after(frozenMaxMs, () => {
        group.thaw = undefined;
        group.frozenSinceMs = undefined;
        this.#changedInTime(mailboxes.replicasOf(group.name));
      });
      return;
    }
    group.thaw?.stop();
    group.thaw = undefined;
    group.frozenSinceMs = undefined;
    if (was || countsChanged) store.announce(countedTopic, ...mailboxes.replicasOf(group.name));
  }

  /** By a timer: there may be no room yet for what has to be counted anew. */
  #changedInTime(replicas: readonly string[]): void {
    this.#ports.write((t) => {
      for (const replica of replicas) t.announce(countedTopic, replica);
    });
  }

  #tell(t: Transaction, member: string, key: string, row: OwnerAttributes | ReplicasAttributes): void {
    const attributes = text(stableStringify(row));
    this.#ports.mailboxes.get(member)?.producer.put(t, { key, attributes, body: new Uint8Array(0) }, 0);
  }

  #reportedTermOf(reader: Reader, member: string): number {
    const table = this.#ports.mailboxes.get(member)?.reported;
    const row = table?.get(reader, hash128(entryKey.replicaTerm()));
    return row?.content && table ? attributesOf<ReplicaTermAttributes>(table.content(reader, row.content)).term : 0;
  }
}

function ownerRow({ owner, granted, sequence }: ChildOwnership): OwnerAttributes {
  return { owner, granted, sequence };
}

function stateRow({ state: { term, lead } }: Ownership): ReplicasAttributes {
  return { term, lead };
}

function groupWith(name: string, ownership: Ownership): ReplicaGroup {
  return { name, ownership, frozenSinceMs: undefined, thaw: undefined, resumed: undefined, mixed: new Map() };
}

function stopTimers({ thaw, resumed, mixed }: ReplicaGroup): void {
  thaw?.stop();
  resumed?.stop();
  for (const timer of mixed.values()) timer?.stop();
}

function groupKey(name: string): Uint8Array {
  return concat(prefixOf('replicaGroup'), text(name));
}

function childKey(name: string, child: string): Uint8Array {
  return concat(prefixOf('replicaChild'), text(name), nul, text(child));
}
