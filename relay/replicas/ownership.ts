/**
 * To which of several siblings each of their children belongs, so that what lies below is counted once: decided by the parent of the siblings, which
 * is the lowest common ancestor of all that a child of theirs may attach to. Pure state; replica-groups.ts keeps it and tells it.
 *
 * A child is counted by its owner alone. It gets another one in two steps: the present owner is told, leaves the child out of all that it tells, and
 * says so by the term of the change; then the new one is told that it may count, and by another term, which all say, that it has told of it. In
 * between nobody counts the child, and never two do. An owner that is away can't answer: then all that it told is left out, its other children go to
 * the sibling that leads, and when it comes back it counts again only after it has said the term of that. So does one that says a lower term than
 * before: it was put back to an older copy. And so does one whose word is of a time that this node has lost, being put back itself: a term is no less
 * than the milliseconds since 1970, so that none is given twice.
 */

/** Where a child belongs. */
export interface ChildOwnership {
  /** The highest attach sequence that was heard of the child. */
  readonly sequence: number;
  readonly role: 'relay' | 'agent';
  /** Where it attached with that. The owner is another one while this one is away, and for as long as it takes to hand it back. */
  readonly at: number;
  readonly owner: number;
  /** The owner may count it. Otherwise `from` may still do so, until it has said `term`. */
  readonly granted: boolean;
  readonly from?: number;
  readonly term?: number;
  /** It is known no more where it attached last: nothing is left of it here once the one that counts it has said so. */
  readonly gone?: true;
}

export interface ReplicaState {
  readonly connected: boolean;
  /** The last term that it said. */
  readonly said: number;
  /** The term that it has to say before anything of it is counted. */
  readonly wanted: number;
}

export interface GroupState {
  readonly term: number;
  /** Owner of the children that nobody has heard of. */
  readonly lead: number;
  readonly wanted: readonly number[];
  /** Absent: nobody has said anything. */
  readonly said?: readonly number[];
}

export const newGroup: GroupState = { term: 0, lead: 0, wanted: [] };

export class Ownership {
  readonly children = new Map<string, ChildOwnership>();
  readonly #members = new Map<number, ReplicaState>();
  /** Children that change their owner, by the one that may still count them: a word about one of them costs no look at the others. */
  readonly #moving: Sets = new Map();
  /** Relays that their owner may count, by owner. */
  readonly #relays: Sets = new Map();
  /** Children that another one counts than the one where they are. */
  readonly #astray = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #nowMs: () => number;
  /** Something was given to an owner: by another term, when nothing is on its way any more, all say that they have told of what they have. */
  #isOwed = false;
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
    for (const [replica, wanted] of state.wanted.entries()) {
      this.#member(replica, { wanted, said: state.said?.[replica] ?? 0 });
    }
    for (const [name, held] of children) {
      this.#index(name, held);
      this.children.set(name, held);
    }
  }

  get state(): GroupState {
    const members = Array.from({ length: Math.max(-1, ...this.#members.keys()) + 1 }, (_, replica) => {
      return this.#members.get(replica);
    });
    const wanted = members.map((member) => member?.wanted ?? 0);
    const said = members.map((member) => member?.said ?? 0);
    return { term: this.#term, lead: this.#lead, wanted, said };
  }

  /** What it told is part of the sums. */
  counts(replica: number): boolean {
    const member = this.#members.get(replica);
    return member !== undefined && member.said >= member.wanted;
  }

  /** The term that was taken as said. */
  reportedTermOf(replica: number): number {
    return this.#members.get(replica)?.said ?? 0;
  }

  /** Nobody is about to take a child over, and all that are there have said what was decided. */
  get isSettled(): boolean {
    return this.#haveAllSaid(({ connected }) => connected);
  }

  /** Nobody is about to take a child over, and all that count have said what was decided, also those that are away. */
  get isAnswered(): boolean {
    return this.#haveAllSaid(({ said, wanted }) => said >= wanted);
  }

  #haveAllSaid(isAsked: (member: ReplicaState) => boolean): boolean {
    if (this.#moving.size > 0) return false;
    return [...this.#members.values()].every((member) => !isAsked(member) || member.said >= this.#term);
  }

  /** Children whose place is another one since the last call. */
  takeChanged(): string[] {
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }

  // ------------------------------------------------------------------------------------------------------ inputs

  /** A sibling says that a child has attached to it. Older words, and words that come twice, change nothing. */
  attached(replica: number, child: string, sequence: number, role: 'relay' | 'agent'): void {
    const held = this.children.get(child);
    if (held && (held.gone ? sequence < held.sequence : sequence <= held.sequence)) return;
    const counting = held ? (held.granted ? held.owner : held.from!) : this.#lead;
    // Also back to the one that may still count it: it has not been taken away yet.
    if (counting === replica) {
      this.#place(child, { sequence, role, at: replica, owner: replica, granted: true });
      return;
    }
    const term = held?.granted === false ? held.term! : this.#nextTerm();
    this.#place(child, { sequence, role, at: replica, owner: replica, granted: false, from: counting, term });
    this.#settle(counting, [child]);
  }

  /**
   * A child is known no more where it attached last: it belongs to the sibling that leads from now on, as one of which nobody has heard, and is forgotten
   * when that one may count it. So there is a row for each child that a sibling knows, and no more.
   */
  left(replica: number, child: string): void {
    const held = this.children.get(child);
    if (!held || held.at !== replica) return;
    const counting = held.granted ? held.owner : held.from!;
    if (counting === this.#lead) return this.#forget(child);
    const { sequence, role, at } = held;
    const term = held.granted ? this.#nextTerm() : held.term!;
    this.#place(child, { sequence, role, at, owner: this.#lead, granted: false, from: counting, term, gone: true });
    this.#settle(counting, [child]);
  }

  /**
   * A sibling has left out what it does not own by this term, in all that it told before. `isWhole`: of that nothing is on its way any more; otherwise its
   * word is heard again when that is so.
   */
  said(replica: number, term: number, isWhole = true): void {
    // Put back to an older copy, it may count what others were given since.
    if (term < this.reportedTermOf(replica)) this.#member(replica, { said: 0, wanted: this.#term });
    // Not decided here, as far as is known here: this node was put back, or lost its store.
    if (term > this.#term) {
      if (this.counts(replica)) this.hasOtherHistory(replica);
      return;
    }
    if (isWhole) this.#member(replica, { said: term });
    this.#settleAll();
    this.#handBack(replica);
  }

  /** A sibling has lost what it said: it may count what is not its own, and is left out until it has heard all that was decided. */
  forgot(replica: number): void {
    this.#member(replica, { said: 0, wanted: this.#term });
    this.#settle(replica);
  }

  /** A sibling has heard of decisions that this node knows no more: it may count by these, also if it says a term that is known here. */
  hasOtherHistory(replica: number): void {
    this.#member(replica, { said: 0, wanted: this.#nextTerm() });
    this.#settle(replica);
  }

  connection(replica: number, connected: boolean): void {
    this.#member(replica, { connected });
    this.#settleAll();
    if (connected) this.#handBack(replica);
  }

  // ----------------------------------------------------------------------------------------------------- decisions

  /** Whoever may be replaced now: one that is there, or counts again, can take over from others that are away. */
  #settleAll(): void {
    if (this.#moving.size > 0) for (const replica of this.#members.keys()) this.#settle(replica);
  }

  /** Children that are to leave `from`: which of them it does not count any more. `asked`: those of which that may have changed. */
  #settle(from: number, asked?: readonly string[]): void {
    const leaving = [...(asked ?? this.#moving.get(from) ?? [])];
    if (leaving.length === 0) return;
    const { connected, said } = this.#members.get(from) ?? this.#member(from, {});
    if (!this.counts(from)) {
      // Nothing of it is counted now; before it is again, it has to know of these as well.
      this.#member(from, { wanted: this.#term });
      for (const child of leaving) this.#grant(child);
      return;
    }
    for (const child of leaving) if (said >= this.children.get(child)!.term!) this.#grant(child);
    if (!connected && this.#mayReplace(from)) this.#leaveOut(from);
  }

  /** To one that is there again: children that have been with it all the time. */
  #handBack(replica: number): void {
    if (this.#astray.size === 0 || !this.#members.get(replica)?.connected || !this.counts(replica)) return;
    const owners = new Set<number>();
    for (const child of [...this.#astray]) {
      const { sequence, role, at, owner } = this.children.get(child)!;
      if (at !== replica) continue;
      owners.add(owner);
      this.#place(child, { sequence, role, at, owner: at, granted: false, from: owner, term: this.#nextTerm() });
    }
    for (const owner of owners) this.#settle(owner);
  }

  /**
   * Agents are known to all siblings by the inventory, relays only to those to which they have attached: as long as one of these is nowhere, what its owner
   * said last is all that is known of the places below it.
   */
  #mayReplace(replica: number): boolean {
    if (!this.#moving.has(replica) || this.#relays.has(replica)) return false;
    return [...this.#members].some(([other, { connected }]) => other !== replica && connected && this.counts(other));
  }

  #leaveOut(replica: number): void {
    this.#member(replica, { wanted: this.#nextTerm() });
    if (this.#lead === replica) this.#lead = this.#nextLead(replica);
    for (const [child, held] of this.children) {
      if (held.granted && held.owner === replica) this.#place(child, { ...held, owner: this.#lead });
      else if (!held.granted && held.from === replica) this.#grant(child);
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
    else this.#place(child, { sequence, role, at, owner, granted: true, ...(gone ? { gone } : {}) });
    this.#isOwed ||= !gone;
    if (!this.#isOwed || this.#moving.size > 0) return;
    this.#isOwed = false;
    this.#nextTerm();
  }

  #forget(child: string): void {
    this.#index(child, undefined);
    this.children.delete(child);
    this.#changed.add(child);
  }

  #place(child: string, held: ChildOwnership): void {
    this.#index(child, held);
    this.children.set(child, held);
    this.#changed.add(child);
  }

  /** `held`: what is to be held of it; undefined: nothing any more. */
  #index(child: string, held: ChildOwnership | undefined): void {
    const before = this.children.get(child);
    move(this.#moving, child, leavingOf(before), leavingOf(held));
    move(this.#relays, child, relayOwnerOf(before), relayOwnerOf(held));
    if (held?.granted && held.owner !== held.at && !held.gone) this.#astray.add(child);
    else this.#astray.delete(child);
  }

  #member(replica: number, change: Partial<ReplicaState>): ReplicaState {
    const member = { connected: false, said: 0, wanted: 0, ...this.#members.get(replica), ...change };
    this.#members.set(replica, member);
    return member;
  }
}

type Sets = Map<number, Set<string>>;

function leavingOf(held: ChildOwnership | undefined): number | undefined {
  return held?.granted === false ? held.from : undefined;
}

function relayOwnerOf(held: ChildOwnership | undefined): number | undefined {
  return held?.granted && held.role === 'relay' ? held.owner : undefined;
}

/** From one set to another; those that are empty go. */
function move(sets: Sets, child: string, from: number | undefined, to: number | undefined): void {
  if (from === to) return;
  const left = from === undefined ? undefined : sets.get(from);
  left?.delete(child);
  if (left?.size === 0) sets.delete(from!);
  if (to !== undefined) sets.set(to, (sets.get(to) ?? new Set()).add(child));
}
