/**
 * Decides which replica of a group owns each child of the group, so that each child is counted once. The parent of the replicas decides, because it is the
 * lowest common ancestor of all nodes to which such a child may attach. This file is pure state. replica-groups.ts stores the state and sends the decisions.
 *
 * Only the owner counts a child. A child changes its owner in these steps, so that two replicas never count it at the same time. In between, no replica counts
 * it.
 * 1. The parent decides a new term and sends all replicas the new owner, not granted.
 * 2. The old owner leaves the child out of all its reports, and then reports the term.
 * 3. The parent grants the child to the new owner, which may count it from then on.
 * 4. When no child is on its way to another owner, the parent decides one more term. A replica that reports this term has reported all children that it owns.
 *
 * After these events, a replica is left out of all sums until it reports a term that was decided after the event:
 * - An owner is not connected, so it can't report that it no longer counts a child. Its other children go to the replica that leads.
 * - A replica reports a lower term than before. Its store was restored from an older copy.
 * - A replica reports a term that this node does not know, because the store of this node was restored. A term is never lower than the milliseconds since 1970,
 *   so this node never gives one term to two decisions.
 */

/** The owner of a child, as the store keeps it. */
export interface ChildOwnership {
  /** The highest attach sequence that a replica has reported for the child. */
  readonly sequence: number;
  readonly role: 'relay' | 'agent';
  /**
   * The replica to which the child attached with that sequence. `owner` differs from it while this replica is not connected, and until the child is handed
   * back.
   */
  readonly at: number;
  readonly owner: number;
  /** True: the owner may count the child. False: `from` may still count the child, until `from` has reported `term`. */
  readonly granted: boolean;
  readonly from?: number;
  readonly term?: number;
  /** Set: replica `at` no longer knows the child. This node drops the record when the replica that counts the child has reported the term. */
  readonly gone?: true;
}

export interface ReplicaState {
  readonly connected: boolean;
  /** The last term that the replica has reported. */
  readonly reportedTerm: number;
  /** The term that the replica has to report before its reports count. */
  readonly requiredTerm: number;
}

/** A group, as the store keeps it. The index in the lists is the number of the replica. */
export interface GroupState {
  readonly term: number;
  /** The replica that leads: it owns the children that no replica has reported. */
  readonly lead: number;
  readonly requiredTerms: readonly number[];
  /** Absent: no replica has reported a term. */
  readonly reportedTerms?: readonly number[];
}

export const newGroup: GroupState = { term: 0, lead: 0, requiredTerms: [] };

export class Ownership {
  readonly children = new Map<string, ChildOwnership>();
  readonly #members = new Map<number, ReplicaState>();
  /**
   * Children that change their owner, keyed by the replica that may still count them. With this index, a report about one child does not read the other
   * children.
   */
  readonly #inHandover: Sets = new Map();
  /** Keyed by owner: the relays that the owner may count. */
  readonly #grantedRelays: Sets = new Map();
  /** Children that are counted by another replica than the one to which they attached last. */
  readonly #countedElsewhere = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #nowMs: () => number;
  /** True: a child has been granted. When no handover is left, one more term makes every replica report all children that it owns. */
  #needsFinalTerm = false;
  #term: number;
  #lead: number;

  /** `nowMs`: wall time. */
  constructor(
    nowMs: () => number,
    state: GroupState = newGroup,
    children: ReadonlyMap<string, ChildOwnership> = new Map(),
  ) {
    this.#nowMs = nowMs;
    this.#term = state.term;
    this.#lead = state.lead;
    for (const [replica, requiredTerm] of state.requiredTerms.entries()) {
      this.#member(replica, { requiredTerm, reportedTerm: state.reportedTerms?.[replica] ?? 0 });
    }
    for (const [name, record] of children) {
      this.#index(name, record);
      this.children.set(name, record);
    }
  }

  get state(): GroupState {
    const members = Array.from({ length: Math.max(-1, ...this.#members.keys()) + 1 }, (_, replica) => {
      return this.#members.get(replica);
    });
    const requiredTerms = members.map((member) => member?.requiredTerm ?? 0);
    const reportedTerms = members.map((member) => member?.reportedTerm ?? 0);
    return { term: this.#term, lead: this.#lead, requiredTerms, reportedTerms };
  }

  /** Returns whether the reports of the replica are part of the sums. */
  counts(replica: number): boolean {
    const member = this.#members.get(replica);
    return member !== undefined && member.reportedTerm >= member.requiredTerm;
  }

  /** Returns the last term that this node accepted from the replica. */
  reportedTermOf(replica: number): number {
    return this.#members.get(replica)?.reportedTerm ?? 0;
  }

  /** True if no child is on its way to another owner, and all connected replicas have reported the newest term. */
  get isSettled(): boolean {
    return this.#haveAllReported(({ connected }) => connected);
  }

  /** True if no child is on its way to another owner, and all replicas that count, connected or not, have reported the newest term. */
  get isAnswered(): boolean {
    return this.#haveAllReported(({ reportedTerm, requiredTerm }) => reportedTerm >= requiredTerm);
  }

  #haveAllReported(isAsked: (member: ReplicaState) => boolean): boolean {
    if (this.#inHandover.size > 0) return false;
    return [...this.#members.values()].every((member) => !isAsked(member) || member.reportedTerm >= this.#term);
  }

  /** Returns the children whose record has changed since the last call. */
  takeChanged(): string[] {
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }

  // ------------------------------------------------------------------------------------------------------ inputs

  /** Call it when a replica reports that a child has attached to it. Older reports, and repeated reports, change nothing. */
  attached(replica: number, child: string, sequence: number, role: 'relay' | 'agent'): void {
    const record = this.children.get(child);
    if (record && (record.gone ? sequence < record.sequence : sequence <= record.sequence)) return;
    const countedBy = record ? (record.granted ? record.owner : record.from!) : this.#lead;
    // This is also the case of a child that returns in the middle of a handover: the replica has not yet left the child out.
    if (countedBy === replica) {
      this.#put(child, { sequence, role, at: replica, owner: replica, granted: true });
      return;
    }
    const term = record?.granted === false ? record.term! : this.#nextTerm();
    this.#put(child, { sequence, role, at: replica, owner: replica, granted: false, from: countedBy, term });
    this.#settle(countedBy, [child]);
  }

  /**
   * Call it when the replica to which a child attached last no longer knows the child. The child goes to the replica that leads, like any child that no replica
   * has reported. When that replica may count the child, this node drops the record. So there is one record for each child that a replica knows, and no more.
   */
  attachmentRemoved(replica: number, child: string): void {
    const record = this.children.get(child);
    if (!record || record.at !== replica) return;
    const countedBy = record.granted ? record.owner : record.from!;
    if (countedBy === this.#lead) return this.#forget(child);
    const { sequence, role, at } = record;
    const term = record.granted ? this.#nextTerm() : record.term!;
    this.#put(child, { sequence, role, at, owner: this.#lead, granted: false, from: countedBy, term, gone: true });
    this.#settle(countedBy, [child]);
  }

  /**
   * Call it when a replica reports a term: all reports that the replica made before leave out the children that it does not own by this term. `isComplete`: all
   * these reports have arrived. Otherwise the caller passes the same term again when they have arrived.
   */
  termReported(replica: number, term: number, isComplete = true): void {
    // The store of the replica was restored from an older copy, so it may count children that were granted to other replicas since.
    if (term < this.reportedTermOf(replica)) this.#member(replica, { reportedTerm: 0, requiredTerm: this.#term });
    // This node does not know the term: its own store was restored or lost.
    if (term > this.#term) {
      if (this.counts(replica)) this.hasOtherHistory(replica);
      return;
    }
    if (isComplete) this.#member(replica, { reportedTerm: term });
    this.#settleAll();
    this.#handBack(replica);
  }

  /** Call it when a replica has lost the term that it had reported. It may count children of others, so it is left out until it reports the newest term. */
  termLost(replica: number): void {
    this.#member(replica, { reportedTerm: 0, requiredTerm: this.#term });
    this.#settle(replica);
  }

  /**
   * Call it when a replica has received decisions that this node no longer knows, and may count by them. Only a new term proves that the replica knows the
   * present decisions: it may have reported an older term for a decision that this node has lost.
   */
  hasOtherHistory(replica: number): void {
    this.#member(replica, { reportedTerm: 0, requiredTerm: this.#nextTerm() });
    this.#settle(replica);
  }

  connection(replica: number, connected: boolean): void {
    this.#member(replica, { connected });
    this.#settleAll();
    if (connected) this.#handBack(replica);
  }

  // ----------------------------------------------------------------------------------------------------- decisions

  /** Checks the handovers of all replicas. A replica that has connected, or counts again, can take over the children of replicas that are not connected. */
  #settleAll(): void {
    if (this.#inHandover.size > 0) for (const replica of this.#members.keys()) this.#settle(replica);
  }

  /**
   * Grants the children that are to leave `from` and that `from` no longer counts. `changed` has the only children for which the result may differ now. Absent:
   * all.
   */
  #settle(from: number, changed?: readonly string[]): void {
    const leaving = [...(changed ?? this.#inHandover.get(from) ?? [])];
    if (leaving.length === 0) return;
    const { connected, reportedTerm } = this.#members.get(from) ?? this.#member(from, {});
    if (!this.counts(from)) {
      // No report of the replica counts now. Before its reports count again, the replica has to know these decisions too.
      this.#member(from, { requiredTerm: this.#term });
      for (const child of leaving) this.#grant(child);
      return;
    }
    for (const child of leaving) if (reportedTerm >= this.children.get(child)!.term!) this.#grant(child);
    if (!connected && this.#mayReplace(from)) this.#leaveOut(from);
  }

  /** Begins to hand children back to a replica that is connected again: the children that have been attached to it all the time. */
  #handBack(replica: number): void {
    if (this.#countedElsewhere.size === 0 || !this.#members.get(replica)?.connected || !this.counts(replica)) return;
    const owners = new Set<number>();
    for (const child of [...this.#countedElsewhere]) {
      const { sequence, role, at, owner } = this.children.get(child)!;
      if (at !== replica) continue;
      owners.add(owner);
      this.#put(child, { sequence, role, at, owner: at, granted: false, from: owner, term: this.#nextTerm() });
    }
    for (const owner of owners) this.#settle(owner);
  }

  /**
   * Returns whether another replica can take over all children of this one. Every replica knows the agents, from the inventory. But only the replicas to which
   * a relay has attached know the relay. While such a relay is attached nowhere, only the last reports of its owner show the Locations below the relay.
   */
  #mayReplace(replica: number): boolean {
    if (!this.#inHandover.has(replica) || this.#grantedRelays.has(replica)) return false;
    return [...this.#members].some(([other, { connected }]) => other !== replica && connected && this.counts(other));
  }

  /** Leaves a replica out: none of its reports counts any more, and others own its children. */
  #leaveOut(replica: number): void {
    this.#member(replica, { requiredTerm: this.#nextTerm() });
    if (this.#lead === replica) this.#lead = this.#nextLead(replica);
    for (const [child, record] of this.children) {
      if (record.granted && record.owner === replica) this.#put(child, { ...record, owner: this.#lead });
      else if (!record.granted && record.from === replica) this.#grant(child);
    }
  }

  #nextTerm(): number {
    this.#term = Math.max(this.#term + 1, Math.floor(this.#nowMs()));
    return this.#term;
  }

  #nextLead(replica: number): number {
    const others = [...this.#members].filter(([other, { connected }]) => {
      return other !== replica && connected && this.counts(other);
    });
    return Math.min(...others.map(([other]) => other));
  }

  #grant(child: string): void {
    const { sequence, role, at, owner, gone } = this.children.get(child)!;
    if (gone && owner === this.#lead) this.#forget(child);
    else this.#put(child, { sequence, role, at, owner, granted: true, ...(gone ? { gone } : {}) });
    this.#needsFinalTerm ||= !gone;
    if (!this.#needsFinalTerm || this.#inHandover.size > 0) return;
    this.#needsFinalTerm = false;
    this.#nextTerm();
  }

  #forget(child: string): void {
    this.#index(child, undefined);
    this.children.delete(child);
    this.#changed.add(child);
  }

  #put(child: string, record: ChildOwnership): void {
    this.#index(child, record);
    this.children.set(child, record);
    this.#changed.add(child);
  }

  /** Updates the indexes. Runs before the record of the child changes to `record`, or is dropped (undefined). */
  #index(child: string, record: ChildOwnership | undefined): void {
    const before = this.children.get(child);
    moveBetween(this.#inHandover, child, handoverFrom(before), handoverFrom(record));
    moveBetween(this.#grantedRelays, child, relayOwnerOf(before), relayOwnerOf(record));
    if (record?.granted && record.owner !== record.at && !record.gone) this.#countedElsewhere.add(child);
    else this.#countedElsewhere.delete(child);
  }

  #member(replica: number, change: Partial<ReplicaState>): ReplicaState {
    const member = { connected: false, reportedTerm: 0, requiredTerm: 0, ...this.#members.get(replica), ...change };
    this.#members.set(replica, member);
    return member;
  }
}

type Sets = Map<number, Set<string>>;

function handoverFrom(record: ChildOwnership | undefined): number | undefined {
  return record?.granted === false ? record.from : undefined;
}

function relayOwnerOf(record: ChildOwnership | undefined): number | undefined {
  return record?.granted && record.role === 'relay' ? record.owner : undefined;
}

/** Moves the child from one set to another, and drops a set that is empty then. */
function moveBetween(sets: Sets, child: string, from: number | undefined, to: number | undefined): void {
  if (from === to) return;
  const before = from === undefined ? undefined : sets.get(from);
  before?.delete(child);
  if (before?.size === 0) sets.delete(from!);
  if (to !== undefined) sets.set(to, (sets.get(to) ?? new Set()).add(child));
}
