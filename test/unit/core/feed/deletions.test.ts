import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { type DeletionGuard, deletionLimits, judge } from '../../../../core/feed/deletions.ts';
import { emptyDigest } from '../../../../core/feed/digest.ts';
import { answer, Reconciliation } from '../../../../core/feed/reconcile.ts';
import { rowsBetween } from '../../../../core/feed/reconcile-rows.ts';
import { heldRowsTopic } from '../../../../core/feed/topics.ts';
import { subscribeTo } from '../../../../core/store/topics.ts';
import { ConsumerEnd, held, ProducerEnd, sync } from './feed-support.ts';

const names = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `k${from + i}`);
const lowest = Buffer.alloc(16);
const highest = Buffer.alloc(17, 0xff);
const seed = Buffer.alloc(8, 7);

describe('the decision about rows that a producer lacks', () => {
  const found = { gone: 0, lost: 0, held: 0, total: 1_000 };

  it.each([
    [{ ...found, gone: 50, total: 60 }, 'none'],
    [{ ...found, gone: 51, total: 60 }, 'all'],
    [{ ...found, gone: 200 }, 'none'],
    [{ ...found, gone: 201 }, 'all'],
    [{ ...found, gone: 1, lost: 1 }, 'lost'],
    [{ ...found, gone: 2, held: 199 }, 'all'],
    [{ ...found, gone: 0, held: 900 }, 'none'],
  ] as const)('for %o is to hold %s', (what, verdict) => {
    expect(judge(what, deletionLimits)).toBe(verdict);
  });

  it('never lets more rows go between two approvals than the budget allows', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.nat(300), fc.integer({ min: 1, max: 400 }), (gone, alreadyHeld, rest) => {
        const total = gone + alreadyHeld + rest;
        const verdict = judge({ gone, lost: 0, held: alreadyHeld, total }, deletionLimits);
        const isBelow = gone + alreadyHeld <= Math.max(50, 0.2 * total);
        expect(verdict === 'none' || !isBelow).toBe(true);
        if (gone > Math.max(50, 0.2 * total)) expect(verdict).toBe('all');
      }),
    );
  });
});

describe('a consumer with a guard', () => {
  /** A consumer with `count` keys, and a producer without any of them. */
  function emptied(count: number, guard: Partial<DeletionGuard> = {}) {
    const consumer = new ConsumerEnd();
    const whole: DeletionGuard = {
      limits: deletionLimits,
      wallMs: () => 1_000,
      mayGo: () => false,
      isLost: () => false,
      ...guard,
    };
    consumer.feed = consumer.store.write((t) => FeedConsumer.open(t, { name: 'upstream', guard: whole }));
    const before = new ProducerEnd();
    for (const key of names(count)) before.put(key, 'body', 7);
    sync(before, consumer);
    return { consumer, producer: new ProducerEnd(undefined, 2) };
  }

  function reconcile(producer: ProducerEnd, consumer: ConsumerEnd) {
    const reconciliation = consumer.store.read((reader) => new Reconciliation(reader, consumer.feed, seed));
    let requests = 0;
    let fetched = 0;
    for (let request = reconciliation.next(); request; request = reconciliation.next()) {
      const asked = request;
      requests++;
      const reply = producer.store.read((reader) =>
        answer(reader, producer.feed, asked, producer.feed.head(reader), { maxBytes: 256 * 1024 }),
      );
      fetched += reply.entries.length;
      consumer.store.write((t) => reconciliation.absorb(t, reply));
    }
    return { requests, fetched, changes: consumer.store.write((t) => reconciliation.finish(t)) };
  }

  const holding = ({ store, feed }: ConsumerEnd) => store.read((reader) => feed.held(reader));

  it('removes the rows that a producer lacks if they are few', () => {
    const { producer, consumer } = emptied(50);
    expect(reconcile(producer, consumer).changes).toHaveLength(50);
    expect(holding(consumer)).toBeUndefined();
    expect(held(consumer)).toEqual({});
  });

  it('keeps all of them if they are too many, durably, and continues with the feed', () => {
    const { producer, consumer } = emptied(60);
    expect(reconcile(producer, consumer).changes).toEqual([]);
    expect(holding(consumer)).toMatchObject({ entries: 60, sinceMs: 1_000 });
    expect(holding(consumer)!.sample).toHaveLength(5);
    producer.put('new', 'body', 9);
    sync(producer, consumer);
    expect(Object.keys(held(consumer))).toHaveLength(61);
    const again = new ConsumerEnd(consumer.store);
    expect(holding(again)).toEqual(holding(consumer));
  });

  it('removes all rows that a producer has removed if the consumer itself was restored: a producer that never ended has lost nothing', () => {
    const { consumer } = emptied(0);
    const producer = new ProducerEnd();
    for (const key of names(60)) producer.put(key, 'body', 7);
    sync(producer, consumer);
    for (const key of names(60)) producer.remove(key, 8);
    producer.acknowledge(producer.head);
    expect(producer.store.read((reader) => producer.feed.resumable(reader, consumer.tuple))).toBe(false);
    expect(reconcile(producer, consumer).changes).toHaveLength(60);
    expect(holding(consumer)).toBeUndefined();
  });

  it('keeps them if that producer has ended in between, or is behind the consumer', () => {
    for (const isRestarted of [true, false]) {
      const { consumer } = emptied(0);
      const producer = new ProducerEnd();
      for (const key of names(60)) producer.put(key, 'body', 7);
      sync(producer, consumer);
      if (isRestarted) {
        for (const key of names(60)) producer.remove(key, 8);
        producer.acknowledge(producer.head);
        producer.restart();
      } else {
        const { epoch, incarnation } = consumer.tuple;
        consumer.store.write((t) => consumer.feed.setResume(t, { epoch, incarnation, cursor: 500, seenHead: 500 }));
        for (const key of names(60)) producer.remove(key, 8);
        producer.acknowledge(producer.head);
      }
      expect(reconcile(producer, consumer).changes).toEqual([]);
      expect(holding(consumer)).toMatchObject({ entries: 60 });
    }
  });

  it('agrees with its producer on all other rows', () => {
    const { producer, consumer } = emptied(60);
    reconcile(producer, consumer);
    expect(reconcile(producer, consumer).requests).toBe(1);
    const own = consumer.store.read((reader) => [...rowsBetween(reader, consumer.feed, { from: lowest, to: highest })]);
    expect(own).toEqual([]);
    expect(consumer.store.read((reader) => consumer.feed.digest(reader))).toEqual(emptyDigest);
    producer.put('k0', 'body', 7);
    producer.put('k1', 'newer', 8);
    sync(producer, consumer);
    const [one, other] = [consumer, producer].map(({ store, feed }) => store.read((reader) => feed.digest(reader)));
    expect(one).toEqual(other);
  });

  it('no longer holds a row that the producer has again, in the same, an older or a newer form, or that the producer has removed', () => {
    const { producer, consumer } = emptied(60);
    reconcile(producer, consumer);
    producer.put('k0', 'body', 7);
    producer.put('k1', 'older', 6);
    producer.put('k2', 'newer', 8);
    producer.put('k3', 'body', 7);
    sync(producer, consumer);
    producer.remove('k3', 8);
    sync(producer, consumer);
    expect(holding(consumer)!.entries).toBe(56);
    expect(held(consumer)).toMatchObject({ k0: 'body', k1: 'body', k2: 'newer', k4: 'body' });
    expect(held(consumer).k3).toBeUndefined();
  });

  it('fetches no held row when it attaches to a producer that has it, in the same form or an older one', () => {
    const { producer, consumer } = emptied(60);
    reconcile(producer, consumer);
    const other = new ProducerEnd(undefined, 3);
    for (const key of names(58)) other.put(key, 'body', 7);
    other.put('k58', 'older', 6);
    other.put('k59', 'newer', 8);
    expect(reconcile(other, consumer)).toMatchObject({ fetched: 1 });
    expect(holding(consumer)).toBeUndefined();
    expect(held(consumer)).toMatchObject({ k0: 'body', k58: 'body', k59: 'newer' });
  });

  it('cannot resume between the moment that a row is no longer held and the end of the reconciliation', () => {
    const { producer, consumer } = emptied(60);
    reconcile(producer, consumer);
    const other = new ProducerEnd(undefined, 3);
    for (const key of names(60)) other.put(key, 'body', 7);
    const reconciliation = consumer.store.read((reader) => new Reconciliation(reader, consumer.feed, seed));
    const asked = reconciliation.next()!;
    const reply = other.store.read((reader) => answer(reader, other.feed, asked, 60, { maxBytes: 1_024 }));
    consumer.store.write((t) => reconciliation.absorb(t, reply));
    expect(holding(consumer)).toBeUndefined();
    const resume = consumer.store.read((reader) => consumer.feed.resume(reader));
    for (const { store, feed } of [producer, other])
      expect(store.read((reader) => feed.resumable(reader, resume))).toBe(false);
  });

  it('removes the held rows on approval, and nothing on an approval of another token', () => {
    const { producer, consumer } = emptied(60);
    reconcile(producer, consumer);
    const release = (token: string) => consumer.store.write((t) => consumer.feed.release(t, token));
    expect(release('another')).toEqual([]);
    const { token } = holding(consumer)!;
    producer.put('k0', 'newer', 8);
    sync(producer, consumer);
    expect(release(token)).toHaveLength(59);
    expect(held(consumer)).toEqual({ k0: 'newer' });
    expect(holding(consumer)).toBeUndefined();
  });

  it('gets another token when a row is added to the held ones', () => {
    const { producer, consumer } = emptied(60);
    reconcile(producer, consumer);
    const before = holding(consumer)!;
    producer.put('new', 'body', 9);
    sync(producer, consumer);
    reconcile(new ProducerEnd(undefined, 3), consumer);
    expect(holding(consumer)).toMatchObject({ entries: 61, sinceMs: before.sinceMs });
    expect(holding(consumer)!.token).not.toBe(before.token);
  });

  it('keeps rows that the origin has lost, however few, and removes the others', () => {
    const { producer, consumer } = emptied(3, { isLost: (_reader, _table, key) => key === 'k1' });
    expect(
      reconcile(producer, consumer)
        .changes.map(({ key }) => key)
        .sort(),
    ).toEqual(['k0', 'k2']);
    expect(held(consumer)).toEqual({ k1: 'body' });
    expect(holding(consumer)).toMatchObject({ entries: 1, sample: ['k1'] });
  });

  it('holds no row that stands for nothing, and does not count such rows against the budget', () => {
    const over = emptied(61, { mayGo: (key) => key === 'k1' });
    expect(reconcile(over.producer, over.consumer).changes.map(({ key }) => key)).toEqual(['k1']);
    expect(holding(over.consumer)).toMatchObject({ entries: 60 });
    const within = emptied(51, { mayGo: (key) => key === 'k1' });
    expect(reconcile(within.producer, within.consumer).changes).toHaveLength(51);
  });

  it('reports once for each transaction that the held rows have changed', () => {
    const { producer, consumer } = emptied(60);
    let announcements = 0;
    subscribeTo(consumer.store, heldRowsTopic, consumer.feed.name, () => announcements++);
    reconcile(producer, consumer);
    expect(announcements).toBe(1);
    consumer.store.write((t) => consumer.feed.release(t, consumer.feed.held(t)!.token));
    expect(announcements).toBe(2);
  });
});
