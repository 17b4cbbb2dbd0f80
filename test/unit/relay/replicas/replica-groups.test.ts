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

/** The parent of two connected replicas. */
class Parent {
  /** The announced replicas, in order: what they add to sums may have changed. */
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
      for (const replica of ['eu', 'eu~1']) this.#mailboxes.ensure(t, replica, 'relay');
    });
  }

  #made(): ReplicaGroups {
    return new ReplicaGroups({
      clock: this.clock,
      mailboxes: this.#mailboxes,
      store: this.#store,
      isConnected: (replica) => !this.#away.has(replica),
      write: (act) => {
        if (this.#waiting) this.#waiting.push(act);
        else this.#store.write(act);
      },
    });
  }

  /** From now on, writes wait, as those of a node on a full disk do. */
  isFull(): void {
    this.#waiting = [];
  }

  hasRoom(): void {
    const acts = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const act of acts) this.#store.write(act);
  }

  /** `behind`: the number of rows that the replica has written since, and that have not arrived. */
  reports(replica: string, key: string, row: object | undefined, behind = 0): void {
    const after = row && { key, attributes: text(JSON.stringify(row)), body: new Uint8Array(0) };
    const entry = { keyHash: hash128(key), originRevision: 0 };
    this.#receive(replica, behind, (revision) => [{ ...entry, revision, ...(after ? { content: after } : {}) }]);
  }

  /** The batch moves the cursor and has no rows. */
  sendsEmptyBatch(replica: string): void {
    this.#receive(replica, 0, () => []);
  }

  #receive(replica: string, behind: number, entries: (revision: number) => WireEntry[]): void {
    const from = this.#cursors.get(replica) ?? 0;
    const to = from + 1;
    this.#cursors.set(replica, to);
    const batch = { from, to, head: to + behind, entries: entries(to), epoch: 'e0', incarnation: 'i0' };
    this.#store.write((t) => {
      this.#groups.received(t, replica, this.#mailboxes.get(replica)!.consumer.apply(t, batch));
    });
  }

  /** The feed of the replica is in the middle of a reconciliation, or at its end. */
  reconciles(replica: string, isDone = false): void {
    const { consumer } = this.#mailboxes.get(replica)!;
    const cursor = this.#cursors.get(replica) ?? 0;
    const at = isDone ? { incarnation: 'i0', cursor, seenHead: cursor } : { incarnation: '', cursor: 0, seenHead: 0 };
    this.#store.write((t) => {
      consumer.setResume(t, { epoch: 'e0', ...at });
      this.#groups.received(t, replica, []);
    });
  }

  /** The newest term that was sent to the replicas. */
  get term(): number {
    const { producer } = this.#mailboxes.get('eu')!;
    return this.#store.read((reader) => {
      const row = producer.get(reader, hash128('replicas'));
      const sent = row?.content && producer.content(reader, row.content).attributes;
      return sent ? (JSON.parse(Buffer.from(sent).toString()) as { term: number }).term : 0;
    });
  }

  /** The replica has rows of its mailbox that the parent did not send. */
  hasOtherRows(replica: string): void {
    this.#groups.hasOtherHistory(replica);
  }

  /** The replicas whose reports count. */
  get counted(): string[] {
    return ['eu', 'eu~1'].filter((replica) => this.#groups.counts(replica));
  }

  /** The replicas whose rows are of two histories. */
  get mixed(): string[] {
    return ['eu', 'eu~1'].filter((replica) => this.#groups.isMixed(replica));
  }

  /** The replicas whose share of the sums stays as it was. */
  get frozen(): string[] {
    return ['eu', 'eu~1'].filter((replica) => this.#groups.isFrozen(replica));
  }

  /** The replicas from which no placement with a move is taken. */
  get changing(): string[] {
    return ['eu', 'eu~1'].filter((replica) => this.#groups.isChanging(replica));
  }

  disconnects(replica: string): void {
    this.#away.add(replica);
    this.#groups.connectionChanged(replica, false);
  }

  /** The mailbox of the replica is dropped. */
  remove(replica: string): void {
    this.#store.write((t) => {
      this.#mailboxes.drop(t, replica);
      this.#groups.removed(t, replica);
    });
  }

  /** The number of stored records about replicas and their children. */
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

  /** The owner rows of a child, as sent to each replica. */
  sent(child: string): (object | undefined)[] {
    return ['eu', 'eu~1'].map((replica) => {
      const { producer } = this.#mailboxes.get(replica)!;
      return this.#store.read((reader) => {
        const row = producer.get(reader, hash128(entryKey.owner(child)));
        if (!row?.content) return undefined;
        return JSON.parse(Buffer.from(producer.content(reader, row.content).attributes).toString()) as object;
      });
    });
  }
}

describe('the parent of replicas', () => {
  it('sends the highest sequence of any replica, also if the replica that had reported it lost its store and reports a lower one', () => {
    const parent = new Parent();
    parent.reports('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reports('eu', 'term', { term: parent.term });
    parent.reports('eu', entryKey.attach('till'), { sequence: 7, role: 'agent' });
    parent.reports('eu~1', 'term', { term: parent.term });
    parent.reports('eu', entryKey.attach('till'), undefined);
    parent.reports('eu', entryKey.attach('till'), { sequence: 2, role: 'agent' });
    const [sent] = parent.sent('till');
    expect(sent).toMatchObject({ owner: 1, sequence: 5 });
  });

  it('sends the owner of a child, and takes it back when the replica where the child attached last no longer knows the child', () => {
    const parent = new Parent();
    parent.reports('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    const moving = { owner: 1, granted: false, sequence: 5 };
    expect(parent.sent('till')).toEqual([moving, moving]);
    parent.reports('eu', 'term', { term: parent.term });
    const granted = { ...moving, granted: true };
    expect(parent.sent('till')).toEqual([granted, granted]);
    parent.reports('eu~1', entryKey.attach('till'), undefined);
    parent.reports('eu~1', 'term', { term: parent.term });
    expect(parent.sent('till')).toEqual([undefined, undefined]);
    parent.restart();
    expect(parent.home('till')).toBeUndefined();
  });

  it('grants a child when all rows have arrived that its former owner had written again before it reported the term', () => {
    const parent = new Parent();
    parent.reports('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reports('eu', 'term', { term: parent.term }, 1);
    const moving = { owner: 1, granted: false, sequence: 5 };
    expect(parent.sent('till')).toEqual([moving, moving]);
    parent.restart();
    parent.sendsEmptyBatch('eu~1');
    expect(parent.sent('till')).toEqual([moving, moving]);
    parent.sendsEmptyBatch('eu');
    const granted = { ...moving, granted: true };
    expect(parent.sent('till')).toEqual([granted, granted]);
  });

  it('names the replica to which a child is attached as its home, for streams', () => {
    const parent = new Parent();
    parent.reports('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    expect(parent.home('till')).toBe('eu~1');
    parent.restart();
    expect(parent.home('till')).toBe('eu~1');
  });

  it('keeps the share of a replica while its feed is reconciled, and counts anew at the end, because the rows are of two histories', () => {
    const parent = new Parent();
    parent.reports('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    expect(parent.frozen).toEqual([]);
    parent.reconciles('eu');
    parent.reconciles('eu');
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: ['eu'], changed: ['eu'] });
    parent.reconciles('eu', true);
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: [], changed: ['eu', 'eu'] });
  });

  it('counts anew after 10 s of a reconciliation that does not end', () => {
    const parent = new Parent();
    parent.reports('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reconciles('eu');
    parent.clock.advance(9_999);
    parent.reconciles('eu');
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: ['eu'], changed: ['eu'] });
    parent.clock.advance(1);
    parent.reconciles('eu');
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: [], changed: ['eu', 'eu'] });
    expect(parent.mixed).toEqual(['eu']);
  });

  it('counts anew when there is room again, if the freeze ends on a full disk', () => {
    const parent = new Parent();
    parent.reports('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reconciles('eu');
    parent.isFull();
    parent.clock.advance(10_000);
    expect({ frozen: parent.frozen, changed: parent.changed }).toEqual({ frozen: [], changed: ['eu'] });
    parent.hasRoom();
    expect(parent.changed.slice(1)).toContain('eu');
  });

  it('leaves out a replica whose feed is still being reconciled after a start, because its former share is not known', () => {
    const parent = new Parent();
    parent.reports('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reconciles('eu');
    parent.restart();
    expect({ frozen: parent.frozen, mixed: parent.mixed }).toEqual({ frozen: [], mixed: ['eu'] });
    parent.reconciles('eu', true);
    expect({ mixed: parent.mixed, changed: parent.changed }).toEqual({ mixed: [], changed: ['eu', 'eu'] });
  });

  it('takes no placement with a move from replicas for 10 s after a start in the middle of a change, and then looks again', () => {
    const parent = new Parent();
    parent.reports('eu~1', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reports('eu', 'term', { term: parent.term });
    parent.restart();
    expect({ frozen: parent.frozen, changing: parent.changing }).toEqual({ frozen: [], changing: ['eu', 'eu~1'] });
    parent.changed.length = 0;
    parent.clock.advance(9_999);
    expect(parent.changing).toEqual(['eu', 'eu~1']);
    parent.clock.advance(1);
    expect({ changing: parent.changing, changed: parent.changed }).toEqual({ changing: [], changed: ['eu', 'eu~1'] });
    for (const replica of ['eu', 'eu~1']) parent.reports(replica, 'term', { term: parent.term });
    parent.restart();
    expect(parent.changing).toEqual([]);
  });

  it('leaves out a replica with rows that the parent did not send, until the replica reports the present term', () => {
    const parent = new Parent();
    parent.hasOtherRows('eu');
    expect(parent.term).toBe(0);
    parent.reports('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.hasOtherRows('eu');
    expect(parent.counted).toEqual(['eu~1']);
    parent.reports('eu', 'term', { term: parent.term - 1 });
    expect(parent.counted).toEqual(['eu~1']);
    parent.reports('eu', 'term', { term: parent.term });
    expect(parent.counted).toEqual(['eu', 'eu~1']);
  });

  it('keeps no records of a group whose last replica was removed', () => {
    const parent = new Parent();
    for (let i = 0; i < 100; i++) parent.reports('eu~1', entryKey.attach(`till-${i}`), { sequence: 5, role: 'agent' });
    expect(parent.rows).toBe(101);
    parent.remove('eu');
    expect(parent.rows).toBe(101);
    parent.remove('eu~1');
    expect(parent.rows).toBe(0);
    expect(parent.counted).toEqual(['eu', 'eu~1']);
    parent.restart();
    expect(parent.home('till-0')).toBeUndefined();
  });

  it('does not keep the share of a reconciling replica that has to receive decisions before it counts', () => {
    const parent = new Parent();
    parent.reports('eu', entryKey.attach('till'), { sequence: 5, role: 'agent' });
    parent.reconciles('eu');
    parent.disconnects('eu');
    parent.reports('eu~1', entryKey.attach('till'), { sequence: 6, role: 'agent' });
    parent.reports('eu~1', 'term', { term: parent.term });
    expect(parent.sent('till')[1]).toMatchObject({ owner: 1, granted: true });
    expect(parent.frozen).toEqual([]);
  });
});
