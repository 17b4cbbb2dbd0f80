import { describe, expect, it } from 'vitest';
import { farAheadBy } from '../../../../core/entries/source-incarnations.ts';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { aheadMaxMs, isFarAhead } from '../../../../core/feed/far-ahead.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { answer, Reconciliation } from '../../../../core/feed/reconcile.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ConsumerEnd, content, held, ProducerEnd, sync } from './feed-support.ts';

const nowMs = Date.UTC(2026, 0, 1);
const ahead = farAheadBy({ wallMs: () => nowMs });
const seed = Buffer.alloc(8, 7);
const falseRevision = 2 ** 47;
const key = 'o/center.retail//configmaps/n/a';

/** A child that receives from its parent. */
class Child extends ConsumerEnd {
  constructor(store = new MemoryStore()) {
    super(store);
    this.feed = this.store.write((t) => FeedConsumer.open(t, { name: 'upstream', isFarAhead: ahead }));
  }

  reconcile({ store, feed, head }: ProducerEnd): void {
    const reconciliation = this.store.read((reader) => new Reconciliation(reader, this.feed, seed));
    for (let request = reconciliation.next(); request; request = reconciliation.next()) {
      const asked = request;
      const reply = store.read((reader) => answer(reader, feed, asked, head, { maxBytes: 1e6 }));
      this.store.write((t) => reconciliation.absorb(t, reply));
    }
    this.store.write((t) => reconciliation.finish(t));
  }

  get origin(): number | undefined {
    return this.store.read((reader) => this.feed.get(reader, hash128(key))?.originRevision);
  }
}

/** The batch of one parent after another parent has sent its own, without the records of the first parent's table. */
function next(before: ProducerEnd, revision: number, body?: string) {
  const after = new ProducerEnd();
  after.put(key, body ?? 'x', revision);
  if (body === undefined) after.remove(key, revision);
  const { epoch, incarnation } = before.batch(0)!;
  const from = before.head;
  return { ...after.batch(0)!, epoch, incarnation, from, to: from + 1, head: from + 1 };
}

it('a revision may be a year ahead of the local clock', () => {
  expect([isFarAhead(nowMs + aheadMaxMs, nowMs), isFarAhead(nowMs + aheadMaxMs + 1, nowMs)]).toEqual([false, true]);
});

describe('a row with a revision that no space can have given', () => {
  const withFalseRow = () => {
    const [producer, child] = [new ProducerEnd(), new Child()];
    producer.put(key, 'a lie', falseRevision);
    sync(producer, child);
    return { producer, child };
  };

  it('is replaced by every later value, and by a deletion', () => {
    const { producer, child } = withFalseRow();
    expect(child.apply(next(producer, nowMs, 'true'))).toMatchObject([{ key, originRevision: nowMs }]);
    expect([held(child), child.origin]).toEqual([{ [key]: 'true' }, nowMs]);
    const other = withFalseRow();
    expect(other.child.apply(next(other.producer, nowMs))).toHaveLength(1);
    expect(held(other.child)).toEqual({});
  });

  it('is replaced by the row of an honest parent, in a reconciliation', () => {
    const { child } = withFalseRow();
    const honest = new ProducerEnd(undefined, 2);
    honest.put(key, 'true', nowMs);
    child.reconcile(honest);
    expect([held(child), child.origin]).toEqual([{ [key]: 'true' }, nowMs]);
  });

  it('is accepted, since a wrong clock may be the reason', () => {
    const child = new Child();
    const producer = new ProducerEnd();
    producer.put(key, 'one', nowMs);
    sync(producer, child);
    producer.put(key, 'two', falseRevision);
    sync(producer, child);
    producer.put(key, 'three', falseRevision + 1);
    sync(producer, child);
    expect(held(child)).toEqual({ [key]: 'three' });
  });

  it('does not keep newer rows out of a child’s mailbox, and is not reported as received', () => {
    const store = new MemoryStore();
    const random = new SeededRandom(1);
    const mailbox = store.write((t) =>
      FeedProducer.open(t, { name: 'mailbox/kid', bootNonce: 'aa', random, isFarAhead: ahead }),
    );
    const newest = () => store.read((reader) => mailbox.newest(mailbox.get(reader, hash128(key))));
    store.write((t) => mailbox.put(t, content(key, 'a lie'), falseRevision));
    expect(newest()).toBeUndefined();
    expect(store.write((t) => mailbox.put(t, content(key, 'true'), nowMs))).toBe(true);
    expect(newest()).toBe(nowMs);
    expect(store.write((t) => mailbox.put(t, content(key, 'older'), nowMs - 1))).toBe(false);
    store.write((t) => mailbox.put(t, content(key, 'a lie'), falseRevision));
    expect(store.write((t) => mailbox.remove(t, hash128(key), nowMs))).toBe(true);
  });
});

it('a number that is no revision of a space may be any number', () => {
  const grant = 'g/center.retail/p';
  const child = new Child();
  const producer = new ProducerEnd();
  producer.put(grant, 'newer', falseRevision);
  sync(producer, child);
  const older = new ProducerEnd(undefined, 2);
  older.put(grant, 'older', nowMs);
  child.reconcile(older);
  expect(held(child)).toEqual({ [grant]: 'newer' });
  const random = new SeededRandom(1);
  const mailbox = child.store.write((t) =>
    FeedProducer.open(t, { name: 'mailbox/kid', bootNonce: 'aa', random, isFarAhead: ahead }),
  );
  const put = (body: string, number: number) => child.store.write((t) => mailbox.put(t, content(grant, body), number));
  expect([put('newer', falseRevision), put('older', nowMs)]).toEqual([true, false]);
});

it('the row of a parent that was restored is older than a row of a plausible revision', () => {
  const child = new Child();
  const producer = new ProducerEnd();
  producer.put(key, 'new', nowMs + aheadMaxMs);
  sync(producer, child);
  const putBack = new ProducerEnd(undefined, 2);
  putBack.put(key, 'old', nowMs);
  child.reconcile(putBack);
  expect(held(child)).toEqual({ [key]: 'new' });
});
