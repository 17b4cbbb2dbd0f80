import { expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { answer, Reconciliation } from '../../../../core/feed/reconcile.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ConsumerEnd, held, ProducerEnd, sync } from './feed-support.ts';

const seed = Buffer.alloc(8, 7);
const farAhead = 2 ** 48 - 1;

/** A parent that receives a child's reports about itself. */
class Reported extends ConsumerEnd {
  constructor(store = new MemoryStore(), ofNoSpace = true) {
    super(store);
    const options = { name: 'upstream', ...(ofNoSpace ? { ofNoSpace } : {}) } as const;
    this.feed = this.store.write((t) => FeedConsumer.open(t, options));
  }

  /** An entry from another history of the child, a store of its own. */
  reconcile({ store, feed, head }: ProducerEnd): void {
    const reconciliation = this.store.read((reader) => new Reconciliation(reader, this.feed, seed));
    for (let request = reconciliation.next(); request; request = reconciliation.next()) {
      const asked = request;
      const reply = store.read((reader) => answer(reader, feed, asked, head, { maxBytes: 1e6 }));
      this.store.write((t) => reconciliation.absorb(t, reply));
    }
    this.store.write((t) => reconciliation.finish(t));
  }

  get origins(): number[] {
    return this.store.read((reader) => [...this.feed.rows(reader)].map(({ originRevision }) => originRevision));
  }
}

const childWithFalseRevisions = () => {
  const child = new ProducerEnd();
  child.put('state/a', 'a lie', farAhead);
  child.put('state/b', 'another', farAhead);
  return child;
};

/** The same child on its own feed, without its producer's record of the number. */
const reportOf = (child: ProducerEnd, from: number, key: string, body?: string) => {
  const other = new ProducerEnd();
  other.put(key, body ?? 'x');
  if (body === undefined) other.remove(key);
  const batch = other.batch(0)!;
  const { epoch, incarnation } = child.batch(0)!;
  return { ...batch, epoch, incarnation, from, to: from + 1, head: from + 1 };
};

it('a later entry replaces one that claimed a revision, and so does its tombstone', () => {
  const [child, parent] = [childWithFalseRevisions(), new Reported()];
  sync(child, parent);
  expect(parent.origins).toEqual([0, 0]);
  const changes = parent.apply(reportOf(child, 2, 'state/a', 'honest'));
  expect(changes).toMatchObject([{ key: 'state/a', originRevision: 0 }]);
  parent.apply(reportOf(child, 3, 'state/b'));
  expect(held(parent)).toEqual({ 'state/a': 'honest' });
});

it('a child with a new store replaces it in a reconciliation', () => {
  const parent = new Reported();
  sync(childWithFalseRevisions(), parent);
  const mended = new ProducerEnd(undefined, 2);
  mended.put('state/a', 'honest');
  parent.reconcile(mended);
  expect(held(parent)).toEqual({ 'state/a': 'honest' });
});

it.each([
  ['an update', (parent: Reported, child: ProducerEnd) => void parent.apply(reportOf(child, 2, 'state/a', 'honest'))],
  [
    'a reconciliation',
    (parent: Reported) => {
      const mended = new ProducerEnd(undefined, 2);
      mended.put('state/a', 'honest');
      mended.put('state/b', 'another');
      parent.reconcile(mended);
    },
  ],
])('a row that was stored with a revision before is replaced by %s', (_, report) => {
  const child = childWithFalseRevisions();
  const before = new Reported(undefined, false);
  sync(child, before);
  expect(before.origins).toEqual([farAhead, farAhead]);
  const parent = new Reported(before.store);
  report(parent, child);
  expect(held(parent)).toEqual({ 'state/a': 'honest', 'state/b': 'another' });
});

it('a feed of spaces keeps the newer value of its origin', () => {
  const child = childWithFalseRevisions();
  const parent = new Reported(undefined, false);
  sync(child, parent);
  expect(parent.apply(reportOf(child, 2, 'state/a', 'older'))).toEqual([]);
});
