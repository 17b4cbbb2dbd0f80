import { describe, expect, it } from 'vitest';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import type { WireEntry } from '../../../../core/feed/feed.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { prefixRange, text } from '../../../../core/store/bytes.ts';
import { prefixOf } from '../../../../core/store/keyspace.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { ReplicaGroups } from '../../../../relay/replicas/replica-groups.ts';
import { countedTopic } from '../../../../relay/work/topics.ts';

/** The parent of two replicas that are both connected. */
class Parent {
  /** The replicas whose contributions are to be checked again, in order. */
  readonly changed: string[] = [];
  readonly clock = new VirtualClock();
  readonly #away = new Set<string>();
  #waiting: ((t: Transaction) => void)[] | undefined;
  readonly #store = new MemoryStore();
  readonly #mailboxes = new Mailboxes(this.#store, new SeededRandom(1), 'boot', '');
  #groups = this.#made();
  readonly #cursors = new Map<string, number>();

  constructor() {
    this.#store.subscribe(countedTopic, (replicas) => this.changed.push(...replicas));
    this.#store.write((t) => {
      for (const sibling of ['eu', 'eu~1']) this.#mailboxes.ensure(t, sibling, 'relay');
    });
  }

  #made(): ReplicaGroups {
    return new ReplicaGroups({
      clock: this.clock,
      mailboxes: this.#mailboxes,
      store: this.#store,
      isConnected: (sibling) => !this.#away.has(sibling),
      write: (act) => {
        if (this.#waiting) this.#waiting.push(act);
        else this.#store.write(act);
      },
    });
  }

  /** As a node does with its writes on a full disk. */
  isFull(): void {
    this.#waiting = [];
  }

  hasRoom(): void {
    const acts = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const act of acts) this.#store.write(act);
  }

  /** `behind`: rows that the replica has written since, and that have not arrived. */
  says(sibling: string, key: string, said: object | undefined, behind = 0): void {
    const after = said && { key, attributes: text(JSON.stringify(said)), body: new Uint8Array(0) };
    const entry = { keyHash: hash128(key), originRevision: 0 };
    this.#hear(sibling, behind, (revision) => [{ ...entry, revision, ...(after ? { content: after } : {}) }]);
  }

  /** The received rows equal the parent's rows. */
  saysNothingNew(sibling: string): void {
    this.#hear(sibling, 0, () => []);
  }

  #hear(sibling: string, behind: number, entries: (revision: number) => WireEntry[]): void {
    const from = this.#cursors.get(sibling) ?? 0;
    const to = from + 1;
    this.#cursors.set(sibling, to);
    const batch = { from, to, head: to + behind, entries: entries(to), epoch: 'e0', incarnation: 'i0' };
    this.#store.write((t) => {
      this.#groups.pass(t, sibling, this.#mailboxes.get(sibling)!.consumer.apply(t, batch));
    });
  }

  /** During a reconciliation, or at its end. */
  reconciles(sibling: string, isDone = false): void {
    const { consumer } = this.#mailboxes.get(sibling)!;
    const cursor = this.#cursors.get(sibling) ?? 0;
    const at = isDone ? { incarnation: 'i0', cursor, seenHead: cursor } : { incarnation: '', cursor: 0, seenHead: 0 };
    this.#store.write((t) => {
      consumer.setResume(t, { epoch: 'e0', ...at });
      this.#groups.pass(t, sibling, []);
    });
  }

  /** The newest decision, as the replicas receive it. */
  get term(): number {
    const { producer } = this.#mailboxes.get('eu')!;
    return this.#store.read((reader) => {
      const row = producer.get(reader, hash128('replicas'));
      const told = row?.content && producer.content(reader, row.content).attributes;
      return told ? (JSON.parse(Buffer.from(told).toString()) as { term: number }).term : 0;
    });
  }

  /** The replica comes with rows of its mailbox that the parent has not sent. */
  comesWithOtherRows(sibling: string): void {
    this.#groups.hasOtherHistory(sibling);
  }

  /** The replicas whose reports count, and those whose rows are of two histories. */
  get counted(): string[] {
    return ['eu', 'eu~1'].filter((sibling) => this.#groups.counts(sibling));
  }

  get mixed(): string[] {
    return ['eu', 'eu~1'].filter((sibling) => this.#groups.isMixed(sibling));
  }

  /** The replicas whose contribution to sums does not change. */
  get frozen(): string[] {
    return ['eu', 'eu~1'].filter((sibling) => this.#groups.isFrozen(sibling));
  }

  /** The replicas from which no placement with an order of copies is taken. */
  get changing(): string[] {
    return ['eu', 'eu~1'].filter((sibling) => this.#groups.isChanging(sibling));
  }

  leaves(sibling: string): void {
    this.#away.add(sibling);
    this.#groups.connectionChanged(sibling, false);
  }

  /** Gone for good: its mailbox is dropped. */
  goes(sibling: string): void {
    this.#store.write((t) => {
      this.#mailboxes.drop(t, sibling);
      this.#groups.gone(t, sibling);
    });
  }

  /** Rows about siblings and their children. */
  get rows(): number {
    const kept = ['replicaGroup', 'replicaChild'] as const;
    return this.#store.read((reader) => kept.flatMap((of) => [...reader.scan(prefixRange(prefixOf(of)))]).length);
  }

  restart(): void {
    this.#groups.stop();
    this.#groups = this.#made();
    this.#store.read((reader) => this.#groups.load(reader));
  }

  home(child: string): string | undefined {
    return this.#groups.homeOf('eu', child);
  }

  /** The entry about a child that each replica receives. */
  told(child: string): (object | undefined)[] {
    return ['eu', 'eu~1'].map((sibling) => {
      const { producer } = this.#mailboxes.get(sibling)!;
      return this.#store.read((reader) => {
        const row = producer.get(reader, hash128(entryKey.owner(child)));
        if (!row?.content) return undefined;
        return JSON.parse(Buffer.from(producer.content(reader, row.content).attributes).toString()) as object;
      });
    });
  }
}

describe('the decisions that the parent of replicas sends', () => {
  it('use the highest sequence of any replica, even if the replica that reported it lost its store and reports an older one', () => {
    const parent = new Parent();
    parent.says('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.says('eu', 'term', { term: parent.term });
    parent.says('eu', entryKey.attach('till'), { sequence: 7, role: 'agent' });
    parent.says('eu~1', 'term', { term: parent.term });
    parent.says('eu', entryKey.attach('till'), undefined);
    parent.says('eu', entryKey.attach('till'), { sequence: 2, role: 'agent' });
    const [told] = parent.told('till');
    expect(told).toMatchObject({ owner: 1, sequence: 5 });
  });

  it('name the owner of a child, and nothing more once the child is removed where it attached last', () => {
    const parent = new Parent();
    parent.says('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    const moving = { owner: 1, granted: false, sequence: 5 };
    expect(parent.told('till')).toEqual([moving, moving]);
    parent.says('eu', 'term', { term: parent.term });
    const granted = { ...moving, granted: true };
    expect(parent.told('till')).toEqual([granted, granted]);
    parent.says('eu~1', entryKey.attach('till'), undefined);
    parent.says('eu~1', 'term', { term: parent.term });
    expect(parent.told('till')).toEqual([undefined, undefined]);
    parent.restart();
    expect(parent.home('till')).toBeUndefined();
  });

  it('grant a child once all earlier and rewritten reports of its former owner have arrived', () => {
    const parent = new Parent();
    parent.says('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.says('eu', 'term', { term: parent.term }, 1);
    const moving = { owner: 1, granted: false, sequence: 5 };
    expect(parent.told('till')).toEqual([moving, moving]);
    parent.restart();
    parent.saysNothingNew('eu~1');
    expect(parent.told('till')).toEqual([moving, moving]);
    parent.saysNothingNew('eu');
    const granted = { ...moving, granted: true };
    expect(parent.told('till')).toEqual([granted, granted]);
  });

  it('put the replica first, of those that a stream may use, to which the next node is attached', () => {
    const parent = new Parent();
    parent.says('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    expect(parent.home('till')).toBe('eu~1');
    parent.restart();
    expect(parent.home('till')).toBe('eu~1');
  });

  it('count as before while the feed of a replica is reconciled, and again at the end: its rows are of two histories', () => {
    const parent = new Parent();
    parent.says('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    expect(parent.frozen).toEqual([]);
    parent.reconciles('eu');
    parent.reconciles('eu');
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: ['eu'], changed: ['eu'] });
    parent.reconciles('eu', true);
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: [], changed: ['eu', 'eu'] });
  });

  it('count again after 10 s of a reconciliation that does not end', () => {
    const parent = new Parent();
    parent.says('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reconciles('eu');
    parent.clock.advance(9_999);
    parent.reconciles('eu');
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: ['eu'], changed: ['eu'] });
    parent.clock.advance(1);
    parent.reconciles('eu');
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: [], changed: ['eu', 'eu'] });
    expect(parent.mixed).toEqual(['eu']);
  });

  it('count again when there is room for that, if the time of a reconciliation ends on a full disk', () => {
    const parent = new Parent();
    parent.says('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reconciles('eu');
    parent.isFull();
    parent.clock.advance(10_000);
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: [], changed: ['eu'] });
    parent.hasRoom();
    expect(parent.changed.slice(1)).toContain('eu');
  });

  it('add nothing of a replica that is still reconciled after a start, until the end: its former counts are not known', () => {
    const parent = new Parent();
    parent.says('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reconciles('eu');
    parent.restart();
    expect({ frozen: parent.frozen, mixed: parent.mixed }).toEqual({ frozen: [], mixed: ['eu'] });
    parent.reconciles('eu', true);
    expect({ mixed: parent.mixed, changed: parent.changed }).toEqual({ mixed: [], changed: ['eu', 'eu'] });
  });

  it('take nothing from replicas for 10 s after a start in the middle of a change, and check them again then', () => {
    const parent = new Parent();
    parent.says('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.says('eu', 'term', { term: parent.term });
    parent.restart();
    expect({ frozen: parent.frozen, changing: parent.changing }).toEqual({ frozen: [], changing: ['eu', 'eu~1'] });
    parent.changed.length = 0;
    parent.clock.advance(9_999);
    expect(parent.changing).toEqual(['eu', 'eu~1']);
    parent.clock.advance(1);
    expect({ changing: parent.changing, changed: parent.changed }).toEqual({ changing: [], changed: ['eu', 'eu~1'] });
    for (const sibling of ['eu', 'eu~1']) parent.says(sibling, 'term', { term: parent.term });
    parent.restart();
    expect(parent.changing).toEqual([]);
  });

  it('leave out a replica with rows that it has not reported, until the replica reports the present decision', () => {
    const parent = new Parent();
    parent.comesWithOtherRows('eu');
    expect(parent.term).toBe(0);
    parent.says('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.comesWithOtherRows('eu');
    expect(parent.counted).toEqual(['eu~1']);
    parent.says('eu', 'term', { term: parent.term - 1 });
    expect(parent.counted).toEqual(['eu~1']);
    parent.says('eu', 'term', { term: parent.term });
    expect(parent.counted).toEqual(['eu', 'eu~1']);
  });

  it('keep nothing of replicas after the last one has gone for good', () => {
    const parent = new Parent();
    for (let i = 0; i < 100; i++) parent.says('eu~1', entryKey.attach(`till-${i}`), { sequence: 5, role: 'agent' });
    expect(parent.rows).toBe(101);
    parent.goes('eu');
    expect(parent.rows).toBe(101);
    parent.goes('eu~1');
    expect(parent.rows).toBe(0);
    expect(parent.counted).toEqual(['eu', 'eu~1']);
    parent.restart();
    expect(parent.home('till-0')).toBeUndefined();
  });

  it('no longer count as before once the reconciled replica has to receive decisions made without it', () => {
    const parent = new Parent();
    parent.says('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reconciles('eu');
    parent.leaves('eu');
    parent.says('eu~1', entryKey.attach('till'), { sequence: 6, role: 'agent' });
    parent.says('eu~1', 'term', { term: parent.term });
    expect(parent.told('till')[1]).toMatchObject({ owner: 1, granted: true });
    expect(parent.frozen).toEqual([]);
  });
});
