import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChildOwnership, type GroupState, Ownership } from '../../../../relay/replicas/ownership.ts';

function settled(...connected: number[]): Ownership {
  const ownership = new Ownership(() => 0);
  for (const replica of connected) ownership.connection(replica, true);
  return ownership;
}

describe('ownership of the children of replicas', () => {
  it('counts a child at its new replica only once its former owner has reported that it leaves the child out', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    expect(ownership.children.get('till')).toMatchObject({ owner: 1, granted: false, from: 0, term: 1 });
    ownership.said(0, 1);
    expect(ownership.children.get('till')).toEqual({ sequence: 5, role: 'agent', at: 1, owner: 1, granted: true });
  });

  it('is settled when the new owners have reported that they reported their children, by one term for all changes at once', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.attached(1, 'kiosk', 5, 'agent');
    ownership.said(1, 2);
    ownership.said(0, 2);
    expect([...ownership.children.values()].map(({ granted }) => granted)).toEqual([true, true]);
    expect([ownership.state.term, ownership.isSettled]).toEqual([3, false]);
    ownership.said(0, 3);
    expect(ownership.isSettled).toBe(false);
    ownership.said(1, 3);
    expect([ownership.state.term, ownership.isSettled]).toEqual([3, true]);
  });

  it('follows the highest attach sequence, in whichever order the reports arrive', () => {
    for (const order of [
      [5, 6],
      [6, 5],
    ]) {
      const ownership = settled(0, 1);
      for (const sequence of order) ownership.attached(sequence === 6 ? 1 : 0, 'till', sequence, 'agent');
      expect(ownership.children.get('till')).toMatchObject({ owner: 1, sequence: 6 });
    }
  });

  it('leaves out the reports of an absent owner, gives its other agents to the leading replica, and counts it again when it has the new decision', () => {
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
    ownership.said(0, ownership.state.term);
    expect(ownership.counts(0)).toBe(true);
  });

  it.each([
    ['that has not answered', true],
    ['that is away, and so is one of its relays', false],
  ])('looks at no other child when one attaches that leaves an owner %s', (_, connected) => {
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
      for (let i = 0; i < 500; i++) ownership.left(1, `${round}-${i}`);
      return looks;
    };
    const first = looksOf(0);
    for (let round = 1; round < 4; round++) expect(looksOf(round)).toBe(first);
    expect(first).toBeLessThan(5_000);
  });

  it('keeps the reports of an absent owner as long as one of its relays is nowhere else: no other replica knows the nodes below that relay', () => {
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

  it('gives a child that returns before it was handed over back at once', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.attached(0, 'till', 6, 'agent');
    expect(ownership.children.get('till')).toEqual({ sequence: 6, role: 'agent', at: 0, owner: 0, granted: true });
  });

  it('ends with the leading replica if the child is removed where it attached last, and never counts the child twice on the way', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.said(0, 1);
    ownership.left(0, 'till');
    expect(ownership.children.get('till')).toMatchObject({ owner: 1, granted: true });
    ownership.left(1, 'till');
    expect(ownership.children.get('till')).toMatchObject({ owner: 0, granted: false, from: 1, term: 3 });
    ownership.said(1, 3);
    expect(ownership.children.size).toBe(0);
    expect(ownership.takeChanged()).toContain('till');
    expect(ownership.isSettled).toBe(false);
    ownership.said(0, 3);
    expect(ownership.isSettled).toBe(true);
  });

  it('starts anew when a removed child comes back', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.said(0, 1);
    ownership.left(1, 'till');
    ownership.attached(1, 'till', 5, 'agent');
    expect(ownership.children.get('till')).toEqual({ sequence: 5, role: 'agent', at: 1, owner: 1, granted: true });
  });

  it('goes to a replica that returns and has yet to receive the decisions made without it, if the owner dies meanwhile', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.said(0, 1);
    ownership.said(1, 1);
    ownership.connection(1, false);
    ownership.attached(0, 'till', 6, 'agent');
    expect(ownership.counts(1)).toBe(false);
    ownership.connection(0, false);
    ownership.connection(1, true);
    ownership.attached(1, 'till', 7, 'agent');
    ownership.said(1, ownership.state.term);
    expect(ownership.children.get('till')).toEqual({ sequence: 7, role: 'agent', at: 1, owner: 1, granted: true });
    expect([ownership.counts(0), ownership.counts(1)]).toEqual([false, true]);
  });

  it('leaves out the reports of a replica that has lost its store, until it has received the decision', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.said(0, 1);
    expect([ownership.counts(0), ownership.isSettled]).toEqual([true, false]);
    ownership.forgot(0);
    expect(ownership.counts(0)).toBe(false);
    ownership.said(0, ownership.state.term);
    expect(ownership.counts(0)).toBe(true);
  });

  it('leaves out the reports of a replica with a lower term than before, until it has received the decision', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.said(0, 1);
    ownership.said(0, 0);
    expect(ownership.counts(0)).toBe(false);
    ownership.said(0, ownership.state.term);
    expect(ownership.counts(0)).toBe(true);
  });

  it('does not accept a term while earlier reports are in flight, but leaves out a replica that reports a lower one', () => {
    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.said(0, 1, false);
    expect([ownership.reportedTermOf(0), ownership.children.get('till')?.granted]).toEqual([0, false]);
    ownership.said(0, 1);
    expect([ownership.reportedTermOf(0), ownership.children.get('till')?.granted]).toEqual([1, true]);
    ownership.said(0, 0, false);
    expect(ownership.counts(0)).toBe(false);
  });

  it('ignores terms that it has not decided, since it was restored, and terms older than its next decision', () => {
    const ownership = settled(0, 1);
    ownership.attached(0, 'till', 5, 'agent');
    ownership.said(0, 3);
    expect([ownership.counts(0), ownership.state.term]).toEqual([false, 1]);
    ownership.said(0, 3);
    expect([ownership.counts(0), ownership.state.term]).toEqual([false, 1]);
    ownership.said(0, 1);
    expect(ownership.counts(0)).toBe(true);
  });

  it('leaves out a replica that has received other decisions, until it reports a term that was decided since', () => {
    let nowMs = 0;
    const ownership = new Ownership(() => nowMs);
    for (const replica of [0, 1]) ownership.connection(replica, true);
    ownership.attached(1, 'till', 5, 'agent');
    ownership.said(0, 1);
    nowMs = 1_000;
    ownership.hasOtherHistory(0);
    expect([ownership.counts(0), ownership.counts(1), ownership.state.term]).toEqual([false, true, 1_000]);
    ownership.said(0, 7);
    expect(ownership.counts(0)).toBe(false);
    ownership.said(0, 1_000);
    expect(ownership.counts(0)).toBe(true);
  });

  it('continues after a restart where it was, with all received reports', () => {
    const said = settled(0, 1);
    said.attached(1, 'till', 5, 'agent');
    said.said(0, 1);
    expect(new Ownership(() => 0, said.state, said.children).reportedTermOf(0)).toBe(1);

    const ownership = settled(0, 1);
    ownership.attached(1, 'till', 5, 'agent');
    const again = new Ownership(() => 0, ownership.state, ownership.children);
    for (const replica of [0, 1]) again.connection(replica, true);
    again.said(0, 1);
    expect(again.children.get('till')).toMatchObject({ owner: 1, granted: true });
  });

  it('counts no child twice, and in the end each where it attached last, whatever is delayed, cut or restarted', () => {
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

  it('counts each agent where it attached last when one replica is gone for good, whatever was before', () => {
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
// Most events are arriving messages: a change takes four of them in a row.
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
  { weight: 3, arbitrary: fc.record({ type: fc.constant('putBack' as const), replica }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('putBackParent' as const), replica, copy: fc.nat(12) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Decided {
  readonly children: ReadonlyMap<string, ChildOwnership>;
  readonly term: number;
  readonly lead: number;
}

type Word =
  | { readonly type: 'attach'; readonly child: Name; readonly sequence: number }
  | { readonly type: 'left'; readonly child: Name }
  | { readonly type: 'told'; readonly counted: ReadonlySet<string>; readonly term: number };

/** A replica as its parent sees it: messages in flight in both directions, delivered in order while the replica is connected. */
class Sibling {
  readonly #replica: number;
  readonly attachedEver = new Set<string>();
  /** Removed from the inventory, which is the same at all replicas. */
  readonly gone = new Set<string>();
  decided: Decided = { children: new Map(), term: 0, lead: 0 };
  /** All former states of the replica: an older copy of it has one of these. */
  readonly known: Decided[] = [this.decided];
  connected = false;
  /** The replica has received decisions that its parent no longer knows. */
  hasOtherHistory = false;
  readonly down: Decided[] = [];
  readonly up: Word[] = [];
  /** The entries about each child in its feed. */
  readonly #rows = new Map<Name, Word>();

  constructor(own: number) {
    this.#replica = own;
    this.tell();
  }

  say(child: Name, word: Word): void {
    this.#rows.set(child, word);
    this.up.push(word);
  }

  /** After a restore of the parent: the replica sends its later reports again, and its later received entries are of another history. */
  parentWasPutBack(): void {
    this.hasOtherHistory = true;
    this.down.length = 0;
    const told = this.up.filter(({ type }) => type === 'told');
    this.up.splice(0, this.up.length, ...this.#rows.values(), ...told);
    this.tell();
  }

  learn(decided: Decided): void {
    this.decided = decided;
    this.known.push(decided);
    this.tell();
  }

  /** New sessions carry the attachments. Reports in flight are lost, and the replica receives all decisions again. */
  putBack(latest: Decided): void {
    const said = this.up.filter(({ type }) => type !== 'told');
    this.up.splice(0, this.up.length, ...said);
    this.down.splice(0, this.down.length, latest);
    this.learn(this.known.at(-3) ?? this.known[0]!);
  }

  tell(): void {
    this.up.push({
      type: 'told',
      counted: new Set(names.filter((child) => this.#owns(child))),
      term: this.decided.term,
    });
  }

  knows(child: Name): boolean {
    return !this.gone.has(child) && (roles[child] === 'agent' || this.attachedEver.has(child));
  }

  #owns(child: Name): boolean {
    if (!this.knows(child)) return false;
    const held = this.decided.children.get(child);
    return held ? held.owner === this.#replica && held.granted : this.decided.lead === this.#replica;
  }
}

/** The contents of the parent's disk. */
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
  readonly #siblings = replicas.map((own) => new Sibling(own));
  readonly #reported = replicas.map((): Reported => ({ counted: new Set(), term: 0 }));
  readonly #last = new Map<Name, number>();
  #sequence = 0;
  readonly everCountedTwice = new Set<Name>();
  /** Older states of the parent, one after each entry that it sent. */
  readonly #copies: Copy[] = [this.#copy()];
  /** These events concern no other children. */
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
    const sibling = this.#siblings[one.replica]!;
    switch (one.type) {
      case 'attach':
        sibling.attachedEver.add(one.child);
        sibling.gone.delete(one.child);
        this.#last.set(one.child, one.replica);
        sibling.say(one.child, { type: 'attach', child: one.child, sequence: ++this.#sequence });
        sibling.tell();
        return;
      case 'leave':
        this.#last.delete(one.child);
        for (const each of this.#siblings) {
          each.gone.add(one.child);
          each.say(one.child, { type: 'left', child: one.child });
          each.tell();
        }
        return;
      case 'down': {
        const decided = sibling.connected ? sibling.down.shift() : undefined;
        if (decided) sibling.learn(decided);
        return;
      }
      case 'up': {
        const word = sibling.connected ? sibling.up.shift() : undefined;
        if (word) this.#hear(one.replica, word);
        return;
      }
      case 'cut':
      case 'join':
        sibling.connected = one.type === 'join';
        if (sibling.connected && sibling.hasOtherHistory) this.#reconcile(one.replica, sibling);
        this.parent.connection(one.replica, sibling.connected);
        return this.#publish();
      case 'putBack':
        return sibling.putBack(this.#decided());
      case 'putBackParent':
        return this.#putBack(this.#copies.at(-1 - one.copy) ?? this.#copies[0]!);
      case 'restart':
        // The parent has its durable state, and no replica is connected.
        this.parent = this.#started(this.#copy());
        for (const own of replicas) {
          this.#siblings[own]!.connected = false;
          this.parent.said(own, this.#reported[own]!.term);
        }
    }
  }

  #copy(): Copy {
    return { state: this.parent.state, children: new Map(this.parent.children), reported: [...this.#reported] };
  }

  #started({ state, children }: Copy): Ownership {
    return new Ownership(() => this.#nowMs, state, children);
  }

  #putBack(copy: Copy): void {
    this.parent = this.#started(copy);
    for (const own of replicas) {
      this.#reported[own] = copy.reported[own]!;
      this.#siblings[own]!.connected = false;
      this.#siblings[own]!.parentWasPutBack();
    }
  }

  /** The replica's mailbox; its feed of reports may resume from the parent's cursor. */
  #reconcile(own: number, sibling: Sibling): void {
    sibling.hasOtherHistory = false;
    this.parent.hasOtherHistory(own);
    this.#publish();
    sibling.down.splice(0, sibling.down.length, this.#decided());
  }

  #hear(own: number, word: Word): void {
    if (word.type === 'attach') {
      this.parent.attached(own, word.child, word.sequence, roles[word.child]);
    } else if (word.type === 'left') {
      this.parent.left(own, word.child);
    } else {
      this.#reported[own] = word;
      this.parent.said(own, word.term);
    }
    this.#publish();
  }

  #publish(): void {
    const { term } = this.parent.state;
    if (this.parent.takeChanged().length === 0 && term === this.#published) return;
    this.#published = term;
    this.#copies.push(this.#copy());
    for (const { down } of this.#siblings) down.push(this.#decided());
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
        const { down, up } = this.#siblings[own]!;
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
        // Children without a report belong to the leading replica, if it knows them.
        const { lead } = this.parent.state;
        const unheard = this.#siblings[lead]!.knows(child) ? [lead] : [];
        return [child, last === undefined ? unheard : [last]];
      }),
    );
  }
}
