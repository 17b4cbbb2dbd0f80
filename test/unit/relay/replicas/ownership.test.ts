import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChildOwnership, type GroupState, Ownership } from '../../../../relay/replicas/ownership.ts';

function settled(...connected: number[]): Ownership {
  const ownership = new Ownership(() => 0);
  for (const replica of connected) ownership.connection(replica, true);
  return ownership;
}

describe('ownership of the children of replicas', () => {
  it('grants a child that has attached elsewhere only when its owner has reported the term without it', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    expect(ownership.children.get('till')).toMatchObject({ owner: 1, granted: false, from: 0, term: 1 });
    ownership.termReported(0, 1);
    expect(ownership.children.get('till')).toEqual({ sequence: 5, role: 'agent', at: 1, owner: 1, granted: true });
  });

  it('is settled when the new owners have reported a further term, one for all children that changed at once', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.attached(1, 'kiosk', 5, 'agent');
    ownership.termReported(1, 2);
    ownership.termReported(0, 2);
    expect([...ownership.children.values()].map(({ granted }) => granted)).toEqual([true, true]);
    expect([ownership.state.term, ownership.isSettled]).toEqual([3, false]);
    ownership.termReported(0, 3);
    expect(ownership.isSettled).toBe(false);
    ownership.termReported(1, 3);
    expect([ownership.state.term, ownership.isSettled]).toEqual([3, true]);
  });

  it('believes the highest attach sequence, in whichever order the reports arrive', () => {
    for (const order of [
      [5, 6],
      [6, 5],
    ]) {
      const ownership = settled(0, 1);
      for (const sequence of order) ownership.attached(sequence === 6 ? 1 : 0, 'till', sequence, 'agent');
      expect(ownership.children.get('till')).toMatchObject({ owner: 1, sequence: 6 });
    }
  });

  it('leaves out an absent owner, gives its other agents to the replica that leads, and counts it again when it has reported the term', () => {
    const ownership = settled(0, 1);
    ownership.attached(0, 'other', 4, 'agent');
    ownership.connection(0, false);
    expect(ownership.counts(0)).toBe(true);
    ownership.attached(1, 'till', 5, 'agent');
    expect(ownership.counts(0)).toBe(false);
    expect([...ownership.children.values()].map(({ owner, granted }) => [owner, granted])).toEqual([
      [1, true],
      [1, true],
    ]);
    expect(ownership.state.lead).toBe(1);
    ownership.connection(0, true);
    expect(ownership.counts(0)).toBe(false);
    ownership.termReported(0, ownership.state.term);
    expect(ownership.counts(0)).toBe(true);
  });

  it.each([
    ['that has not reported the term', true],
    ['that is absent with one of its relays', false],
  ])('looks at no other child when a child leaves an owner %s', (_, connected) => {
    const ownership = settled(0, 1);
    ownership.attached(0, 'paris', 1, 'relay');
    ownership.connection(0, connected);
    let looks = 0;
    const { children } = ownership;
    const [get, values] = [children.get.bind(children), children.values.bind(children)];
    children.get = (child) => {
      looks++;
      return get(child);
    };
    children.values = () => {
      looks += children.size;
      return values();
    };
    const looksOf = (round: number) => {
      looks = 0;
      for (let i = 0; i < 500; i++) ownership.attached(1, `${round}-${i}`, 5, 'agent');
      for (let i = 0; i < 500; i++) ownership.attachmentRemoved(1, `${round}-${i}`);
      return looks;
    };
    const first = looksOf(0);
    for (let round = 1; round < 4; round++) expect(looksOf(round)).toBe(first);
    expect(first).toBeLessThan(5_000);
  });

  it('keeps the reports of an absent owner while one of its relays is nowhere else, because nobody else knows what is below that relay', () => {
    const ownership = settled(0, 1);
    ownership.attached(0, 'paris', 4, 'relay');
    ownership.attached(0, 'lyon', 4, 'relay');
    ownership.connection(0, false);
    ownership.attached(1, 'paris', 5, 'relay');
    expect(ownership.counts(0)).toBe(true);
    expect(ownership.children.get('paris')?.granted).toBe(false);
    ownership.attached(1, 'lyon', 5, 'relay');
    expect(ownership.counts(0)).toBe(false);
    expect([...ownership.children.values()].every(({ owner, granted }) => owner === 1 && granted)).toBe(true);
  });

  it('keeps a child that comes back before the handover with its owner', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.attached(0, 'till', 6, 'agent');
    expect(ownership.children.get('till')).toEqual({ sequence: 6, role: 'agent', at: 0, owner: 0, granted: true });
  });

  it('goes to the replica that leads and ends when the child is removed where it attached last, and never counts the child twice', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.termReported(0, 1);
    ownership.attachmentRemoved(0, 'till');
    expect(ownership.children.get('till')).toMatchObject({ owner: 1, granted: true });
    ownership.attachmentRemoved(1, 'till');
    expect(ownership.children.get('till')).toMatchObject({ owner: 0, granted: false, from: 1, term: 3 });
    ownership.termReported(1, 3);
    expect(ownership.children.size).toBe(0);
    expect(ownership.takeChanged()).toContain('till');
    expect(ownership.isSettled).toBe(false);
    ownership.termReported(0, 3);
    expect(ownership.isSettled).toBe(true);
  });

  it('begins anew when a removed child comes back', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.termReported(0, 1);
    ownership.attachmentRemoved(1, 'till');
    ownership.attached(1, 'till', 5, 'agent');
    expect(ownership.children.get('till')).toEqual({ sequence: 5, role: 'agent', at: 1, owner: 1, granted: true });
  });

  it('goes to a replica that comes back without the newest decisions, if the owner disconnects meanwhile', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.termReported(0, 1);
    ownership.termReported(1, 1);
    ownership.connection(1, false);
    ownership.attached(0, 'till', 6, 'agent');
    expect(ownership.counts(1)).toBe(false);
    ownership.connection(0, false);
    ownership.connection(1, true);
    ownership.attached(1, 'till', 7, 'agent');
    ownership.termReported(1, ownership.state.term);
    expect(ownership.children.get('till')).toEqual({ sequence: 7, role: 'agent', at: 1, owner: 1, granted: true });
    expect([ownership.counts(0), ownership.counts(1)]).toEqual([false, true]);
  });

  it('leaves out a replica that has lost its term, until the replica reports the newest term', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.termReported(0, 1);
    expect([ownership.counts(0), ownership.isSettled]).toEqual([true, false]);
    ownership.termLost(0);
    expect(ownership.counts(0)).toBe(false);
    ownership.termReported(0, ownership.state.term);
    expect(ownership.counts(0)).toBe(true);
  });

  it('leaves out a replica that reports a lower term than before, until the replica reports the newest term', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.termReported(0, 1);
    ownership.termReported(0, 0);
    expect(ownership.counts(0)).toBe(false);
    ownership.termReported(0, ownership.state.term);
    expect(ownership.counts(0)).toBe(true);
  });

  it('accepts no term while earlier reports are on their way, but leaves out a replica that reports a lower term', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.termReported(0, 1, false);
    expect([ownership.reportedTermOf(0), ownership.children.get('till')?.granted]).toEqual([0, false]);
    ownership.termReported(0, 1);
    expect([ownership.reportedTermOf(0), ownership.children.get('till')?.granted]).toEqual([1, true]);
    ownership.termReported(0, 0, false);
    expect(ownership.counts(0)).toBe(false);
  });

  it('believes no term that its restored store does not know, and none older than its next decision', () => {
    const ownership = settled(0, 1);
    ownership.attached(0, 'till', 5, 'agent');
    ownership.termReported(0, 3);
    expect([ownership.counts(0), ownership.state.term]).toEqual([false, 1]);
    ownership.termReported(0, 3);
    expect([ownership.counts(0), ownership.state.term]).toEqual([false, 1]);
    ownership.termReported(0, 1);
    expect(ownership.counts(0)).toBe(true);
  });

  it('leaves out a replica with decisions of another history, until it reports a term that was decided since', () => {
    let nowMs = 0;
    const ownership = new Ownership(() => nowMs);
    for (const replica of [0, 1]) ownership.connection(replica, true);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.termReported(0, 1);
    nowMs = 1_000;
    ownership.hasOtherHistory(0);
    expect([ownership.counts(0), ownership.counts(1), ownership.state.term]).toEqual([false, true, 1_000]);
    ownership.termReported(0, 7);
    expect(ownership.counts(0)).toBe(false);
    ownership.termReported(0, 1_000);
    expect(ownership.counts(0)).toBe(true);
  });

  it('goes on after a restart where it was, with the reported terms', () => {
    const first = settled(0, 1);
    first.attached(1, 'till', 5, 'agent');
    first.termReported(0, 1);
    expect(new Ownership(() => 0, first.state, first.children).reportedTermOf(0)).toBe(1);

    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    const again = new Ownership(() => 0, ownership.state, ownership.children);
    for (const replica of [0, 1]) again.connection(replica, true);
    again.termReported(0, 1);
    expect(again.children.get('till')).toMatchObject({ owner: 1, granted: true });
  });

  it('counts no child twice, and in the end each where it attached last, whatever is delayed, disconnected or restarted', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const mesh = new Mesh();
        mesh.heal();
        for (const one of steps) mesh.act(one);
        mesh.heal();
        expect([...mesh.everCountedTwice]).toEqual([]);
        expect(mesh.counted()).toEqual(mesh.expected());
        expect(mesh.parent.isSettled).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('counts each agent where it attached last when one replica never comes back, whatever happened before', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), replica, (steps, dead) => {
        const mesh = new Mesh(['a', 'b']);
        for (const one of steps) mesh.act(one);
        mesh.act({ type: 'restart', replica: 0 });
        const [other] = replicas.filter((own) => own !== dead) as [number];
        for (const child of ['a', 'b'] as const) mesh.act({ type: 'attach', replica: other, child });
        mesh.heal(replicas.filter((own) => own !== dead));
        expect([...mesh.everCountedTwice]).toEqual([]);
        expect(mesh.counted()).toMatchObject({ a: [other], b: [other] });
      }),
      { numRuns: 1000 },
    );
  });
});

// ---------------------------------------------------------------------------------------------------------------- the model

const roles = { a: 'agent', b: 'agent', p: 'relay', q: 'relay' } as const;
type Name = keyof typeof roles;
const names = Object.keys(roles) as Name[];
const replicas = [0, 1, 2];

const replica = fc.constantFrom(...replicas);
// Most steps deliver a message, because a change takes four of them in a row.
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('attach' as const), replica, child: fc.constantFrom(...names) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('leave' as const), replica, child: fc.constantFrom(...names) }),
  },
  { weight: 30, arbitrary: fc.record({ type: fc.constantFrom('down' as const, 'up' as const), replica }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constantFrom('cut' as const, 'join' as const, 'join' as const), replica }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('restart' as const), replica }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('restore' as const), replica }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('restoreParent' as const), replica, copy: fc.nat(12) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Decided {
  readonly children: ReadonlyMap<string, ChildOwnership>;
  readonly term: number;
  readonly lead: number;
}

type Message =
  | { readonly type: 'attach'; readonly child: Name; readonly sequence: number }
  | { readonly type: 'removed'; readonly child: Name }
  | { readonly type: 'report'; readonly counted: ReadonlySet<string>; readonly term: number };

/** A replica as its parent sees it, with the messages on their way in both directions. They are delivered in order while the replica is connected. */
class Replica {
  readonly #replica: number;
  readonly attachedEver = new Set<string>();
  /** Children that were removed from the inventory, which is the same at all replicas. */
  readonly removed = new Set<string>();
  decided: Decided = { children: new Map(), term: 0, lead: 0 };
  /** All decisions that the replica has received, in order. An older copy of its store has one of these. */
  readonly history: Decided[] = [this.decided];
  connected = false;
  /** The replica has decisions that its parent no longer knows. */
  hasOtherHistory = false;
  readonly down: Decided[] = [];
  readonly up: Message[] = [];
  /** The newest row about each child in the replica's feed. */
  readonly #rows = new Map<Name, Message>();

  constructor(own: number) {
    this.#replica = own;
    this.report();
  }

  send(child: Name, message: Message): void {
    this.#rows.set(child, message);
    this.up.push(message);
  }

  /** The store of the parent was restored: the replica sends everything again, and the decisions that it received since are of another history. */
  parentWasRestored(): void {
    this.hasOtherHistory = true;
    this.down.length = 0;
    const reports = this.up.filter(({ type }) => type === 'report');
    this.up.splice(0, this.up.length, ...this.#rows.values(), ...reports);
    this.report();
  }

  receive(decided: Decided): void {
    this.decided = decided;
    this.history.push(decided);
    this.report();
  }

  /** The store of the replica was restored. New sessions report attachments again. Reports on their way are lost, and the parent sends all decisions again. */
  restore(latest: Decided): void {
    const attachments = this.up.filter(({ type }) => type !== 'report');
    this.up.splice(0, this.up.length, ...attachments);
    this.down.splice(0, this.down.length, latest);
    this.receive(this.history.at(-3) ?? this.history[0]!);
  }

  report(): void {
    this.up.push({
      type: 'report',
      counted: new Set(names.filter((child) => this.#owns(child))),
      term: this.decided.term,
    });
  }

  knows(child: Name): boolean {
    return !this.removed.has(child) && (roles[child] === 'agent' || this.attachedEver.has(child));
  }

  #owns(child: Name): boolean {
    if (!this.knows(child)) return false;
    const held = this.decided.children.get(child);
    return held ? held.owner === this.#replica && held.granted : this.decided.lead === this.#replica;
  }
}

/** The parent's store. */
interface Copy {
  readonly state: GroupState;
  readonly children: ReadonlyMap<string, ChildOwnership>;
  readonly reported: readonly Reported[];
}

interface Reported {
  readonly counted: ReadonlySet<string>;
  readonly term: number;
}

class Mesh {
  #nowMs = 0;
  parent = new Ownership(() => this.#nowMs);
  #published = 0;
  readonly #replicas = replicas.map((own) => new Replica(own));
  readonly #reported = replicas.map((): Reported => ({ counted: new Set(), term: 0 }));
  readonly #last = new Map<Name, number>();
  #sequence = 0;
  readonly everCountedTwice = new Set<Name>();
  /** Copies of the parent's store, one after each decision that it sent. */
  readonly #copies: Copy[] = [this.#copy()];
  /** The children of this run. Steps of other children do nothing. */
  readonly #names: readonly Name[];

  constructor(only: readonly Name[] = names) {
    this.#names = only;
  }

  act(one: Step): void {
    this.#act(one);
    for (const child of this.countedTwice()) this.everCountedTwice.add(child);
  }

  #act(one: Step): void {
    this.#nowMs += 1_000;
    if ('child' in one && !this.#names.includes(one.child)) return;
    const member = this.#replicas[one.replica]!;
    switch (one.type) {
      case 'attach':
        member.attachedEver.add(one.child);
        member.removed.delete(one.child);
        this.#last.set(one.child, one.replica);
        member.send(one.child, { type: 'attach', child: one.child, sequence: ++this.#sequence });
        member.report();
        return;
      case 'leave':
        this.#last.delete(one.child);
        for (const each of this.#replicas) {
          each.removed.add(one.child);
          each.send(one.child, { type: 'removed', child: one.child });
          each.report();
        }
        return;
      case 'down': {
        const decided = member.connected ? member.down.shift() : undefined;
        if (decided) member.receive(decided);
        return;
      }
      case 'up': {
        const message = member.connected ? member.up.shift() : undefined;
        if (message) this.#receive(one.replica, message);
        return;
      }
      case 'cut':
      case 'join':
        member.connected = one.type === 'join';
        if (member.connected && member.hasOtherHistory) this.#reconcile(one.replica, member);
        this.parent.connection(one.replica, member.connected);
        return this.#publish();
      case 'restore':
        return member.restore(this.#decided());
      case 'restoreParent':
        return this.#restore(this.#copies.at(-1 - one.copy) ?? this.#copies[0]!);
      case 'restart':
        // The parent restarts: it has what is durable, and no replica is connected.
        this.parent = this.#started(this.#copy());
        for (const own of replicas) {
          this.#replicas[own]!.connected = false;
          this.parent.termReported(own, this.#reported[own]!.term);
        }
    }
  }

  #copy(): Copy {
    return { state: this.parent.state, children: new Map(this.parent.children), reported: [...this.#reported] };
  }

  #started({ state, children }: Copy): Ownership {
    return new Ownership(() => this.#nowMs, state, children);
  }

  #restore(copy: Copy): void {
    this.parent = this.#started(copy);
    for (const own of replicas) {
      this.#reported[own] = copy.reported[own]!;
      this.#replicas[own]!.connected = false;
      this.#replicas[own]!.parentWasRestored();
    }
  }

  /** The parent's feed to the replica reconciles. The feed of the replica resumes. */
  #reconcile(own: number, member: Replica): void {
    member.hasOtherHistory = false;
    this.parent.hasOtherHistory(own);
    this.#publish();
    member.down.splice(0, member.down.length, this.#decided());
  }

  #receive(own: number, message: Message): void {
    if (message.type === 'attach') {
      this.parent.attached(own, message.child, message.sequence, roles[message.child]);
    } else if (message.type === 'removed') {
      this.parent.attachmentRemoved(own, message.child);
    } else {
      this.#reported[own] = message;
      this.parent.termReported(own, message.term);
    }
    this.#publish();
  }

  #publish(): void {
    const { term } = this.parent.state;
    if (this.parent.takeChanged().length === 0 && term === this.#published) return;
    this.#published = term;
    this.#copies.push(this.#copy());
    for (const { down } of this.#replicas) down.push(this.#decided());
  }

  #decided(): Decided {
    const { term, lead } = this.parent.state;
    return { children: new Map(this.parent.children), term, lead };
  }

  heal(present: readonly number[] = replicas): void {
    for (const own of present) this.act({ type: 'join', replica: own });
    for (let more = true; more; ) {
      more = false;
      for (const own of present) {
        const { down, up } = this.#replicas[own]!;
        more ||= down.length + up.length > 0;
        this.act({ type: 'down', replica: own });
        this.act({ type: 'up', replica: own });
      }
    }
  }

  #countersOf(child: Name): number[] {
    return replicas.filter((own) => this.parent.counts(own) && this.#reported[own]!.counted.has(child));
  }

  countedTwice(): Name[] {
    return names.filter((child) => this.#countersOf(child).length > 1);
  }

  counted(): Record<string, number[]> {
    return Object.fromEntries(names.map((child) => [child, this.#countersOf(child)]));
  }

  expected(): Record<string, number[]> {
    return Object.fromEntries(
      names.map((child) => {
        const last = this.#last.get(child);
        // A child without a report is with the replica that leads, if that replica knows the child.
        const { lead } = this.parent.state;
        const unreported = this.#replicas[lead]!.knows(child) ? [lead] : [];
        return [child, last === undefined ? unreported : [last]];
      }),
    );
  }
}
