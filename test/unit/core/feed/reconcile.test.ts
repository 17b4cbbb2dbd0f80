import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReconcileReply, ReconcileRequest, WireEntry } from '../../../../core/feed/feed.ts';
import { answer, Reconciliation } from '../../../../core/feed/reconcile.ts';
import { seedBytes } from '../../../../core/feed/reconcile-prefixes.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { ConsumerEnd, content, held, ProducerEnd, resumes, sync } from './feed-support.ts';

const names = (count: number, prefix = 'k') => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

/** Both ends with the same rows by default. */
function pair(keys: readonly string[]): { producer: ProducerEnd; consumer: ConsumerEnd } {
  const producer = new ProducerEnd();
  const consumer = new ConsumerEnd();
  producer.store.write((t) => {
    for (const key of keys) producer.feed.put(t, content(key, 'same'), 0);
  });
  sync(producer, consumer);
  return { producer, consumer };
}

/** Changes rows of the consumer without the producer. */
function plant(consumer: ConsumerEnd, rows: Readonly<Record<string, string>>): void {
  const entries = Object.entries(rows).map(
    ([key, body]): WireEntry => ({
      keyHash: hash128(key),
      revision: 0,
      originRevision: 0,
      content: content(key, body),
    }),
  );
  consumer.store.write((t) => consumer.feed.applyEntries(t, entries));
}

function forget(consumer: ConsumerEnd, keys: readonly string[]): void {
  consumer.store.write((t) => {
    consumer.feed.removeAbsent(t, keys.map(hash128));
  });
}

const ask = (producer: ProducerEnd, request: ReconcileRequest) =>
  producer.store.read((reader) =>
    answer(reader, producer.feed, request, producer.feed.head(reader), { maxBytes: 256 * 1024 }),
  );

const seed = Buffer.alloc(seedBytes, 3);
const begin = ({ store, feed }: ConsumerEnd) => store.read((reader) => new Reconciliation(reader, feed, seed));

/** One whole reconciliation; `between` is called before each reply is made. */
function reconcile(producer: ProducerEnd, consumer: ConsumerEnd, between: (round: number) => unknown = () => {}) {
  const reconciliation = begin(consumer);
  const replies: ReconcileReply[] = [];
  let fetched = 0;
  for (let request = reconciliation.next(); request; request = reconciliation.next()) {
    between(request.round);
    const reply = ask(producer, request);
    replies.push(reply);
    fetched += reply.entries.length;
    consumer.store.write((t) => reconciliation.absorb(t, reply));
  }
  const beforeFinish = held(consumer);
  const changes = consumer.store.write((t) => reconciliation.finish(t));
  return { replies, requests: replies.length, fetched, beforeFinish, changes };
}

describe('a reconciliation', () => {
  it('of 5,000 keys with 10 differences transfers the 10 with at most 5 requests', () => {
    const { producer, consumer } = pair(names(5000));
    plant(consumer, Object.fromEntries(names(10).map((key) => [key, 'other'])));
    const { fetched, requests, replies } = reconcile(producer, consumer);
    expect(held(consumer)).toEqual(held(producer));
    expect(fetched).toBe(10);
    expect(requests).toBeLessThanOrEqual(5);
    const listed = replies.flatMap(({ answers }) =>
      answers.flatMap((one) => (one.kind === 'list' ? [...one.items] : [])),
    );
    expect(listed.length).toBeLessThanOrEqual(10 * 64);
  });

  it('of equal rows is one request', () => {
    const { producer, consumer } = pair(names(1000));
    expect(reconcile(producer, consumer)).toMatchObject({ requests: 1, fetched: 0, changes: [] });
  });

  it('fetches missing rows, replaces different ones and removes those that the producer lacks', () => {
    const { producer, consumer } = pair(names(300));
    plant(consumer, { k0: 'other', extra0: 'x', extra1: 'x' });
    forget(consumer, ['k7', 'k8']);
    const { fetched, changes } = reconcile(producer, consumer);
    expect(held(consumer)).toEqual(held(producer));
    expect(fetched).toBe(3);
    expect(changes.map(({ key }) => key).sort()).toEqual(['extra0', 'extra1']);
  });

  it('removes nothing before its end, and then everything at once', () => {
    const { producer, consumer } = pair(names(200));
    const extra = names(100, 'extra');
    plant(consumer, Object.fromEntries(extra.map((key) => [key, 'x'])));
    const { beforeFinish, changes } = reconcile(producer, consumer);
    expect(Object.keys(beforeFinish)).toHaveLength(300);
    expect(changes).toHaveLength(100);
    expect(held(consumer)).toEqual(held(producer));
  });

  it('removes nothing if its last transaction fails', () => {
    const { producer, consumer } = pair(names(3));
    plant(consumer, { extra: 'x' });
    const reconciliation = begin(consumer);
    const reply = ask(producer, reconciliation.next()!);
    consumer.store.write((t) => reconciliation.absorb(t, reply));
    const fail = () =>
      consumer.store.write((t) => {
        reconciliation.finish(t);
        throw new Error('the disk is full');
      });
    expect(fail).toThrow('the disk is full');
    expect(held(consumer)).toHaveProperty('extra');
  });

  it('with an empty producer removes all rows, with an empty consumer fetches all', () => {
    const { producer, consumer } = pair(names(1000));
    const [noRows, fresh] = [new ProducerEnd(undefined, 2), new ConsumerEnd()];
    expect(reconcile(producer, fresh).fetched).toBe(1000);
    expect(held(fresh)).toEqual(held(producer));
    expect(reconcile(noRows, consumer).fetched).toBe(0);
    expect(held(consumer)).toEqual({});
  });

  it('continues with the feed at the head of its first reply, so later changes arrive as batches', () => {
    const { producer, consumer } = pair(names(500));
    plant(consumer, { k3: 'other', k4: 'other' });
    forget(consumer, ['k5']);
    const { replies } = reconcile(producer, consumer, (round) => {
      if (round === 1) return;
      producer.put('k3', `changed in round ${round}`);
      producer.remove('k5');
      producer.put(`new${round}`, '1');
    });
    expect(consumer.tuple).toEqual({
      epoch: producer.feed.epoch,
      incarnation: producer.feed.incarnation,
      cursor: 500,
      seenHead: producer.head,
    });
    expect(replies.length).toBeGreaterThan(2);
    expect(resumes(producer, consumer.tuple)).toBe(true);
    sync(producer, consumer);
    expect(held(consumer)).toEqual(held(producer));
  });

  it('keeps a row of a newer origin revision than the producer’s', () => {
    const producer = new ProducerEnd();
    const consumer = new ConsumerEnd();
    producer.put('a', 'new', 5);
    sync(producer, consumer);
    const behind = new ProducerEnd(undefined, 2);
    behind.put('a', 'old', 4);
    expect(reconcile(behind, consumer).fetched).toBe(0);
    expect(held(consumer)).toEqual({ a: 'new' });
    behind.put('a', 'newest', 6);
    sync(behind, consumer);
    expect(held(consumer)).toEqual({ a: 'newest' });
  });

  it('that was interrupted prevents any resumption, even at the former cursor', () => {
    const { producer: former, consumer } = pair(['a', 'b']);
    const producer = new ProducerEnd(undefined, 2);
    producer.put('a', 'other');
    const reconciliation = begin(consumer);
    for (let round = 1; round <= 2; round++) {
      const reply = ask(producer, reconciliation.next()!);
      consumer.store.write((t) => reconciliation.absorb(t, reply));
    }
    expect(held(consumer)).toEqual({ a: 'other', b: 'same' });
    expect([former, producer].map((one) => resumes(one, consumer.tuple))).toEqual([false, false]);
    reconcile(former, consumer);
    expect(held(consumer)).toEqual(held(former));
  });

  it('prevents a resumption at a copy of the producer from before its last reply', () => {
    const { producer, consumer } = pair(['a']);
    forget(consumer, ['a']);
    const copy = producer.store.copy();
    reconcile(producer, consumer, (round) => round === 2 && producer.put('a', 'newer'));
    expect(held(consumer)).toEqual({ a: 'newer' });
    expect(resumes(producer, consumer.tuple)).toBe(true);
    expect(resumes(producer.restart(copy), consumer.tuple)).toBe(false);
  });

  it('refuses a reply to another round', () => {
    const { producer, consumer } = pair(['a']);
    plant(consumer, { a: 'other' });
    const reconciliation = begin(consumer);
    const request = reconciliation.next()!;
    const late = ask(producer, { ...request, round: request.round + 1, wanted: [hash128('a')] });
    expect(() => consumer.store.write((t) => reconciliation.absorb(t, late))).toThrow('to round 2, asked was 1');
    expect(held(consumer)).toEqual({ a: 'other' });
  });

  it('splits large contents into several replies', () => {
    const producer = new ProducerEnd();
    for (const key of names(20)) producer.put(key, key.padEnd(100_000, 'x'));
    const consumer = new ConsumerEnd();
    const { replies } = reconcile(producer, consumer);
    const bytes = replies.map(({ entries }) => entries.reduce((sum, one) => sum + (one.content?.body.length ?? 0), 0));
    expect(Math.max(...bytes)).toBeLessThanOrEqual(256 * 1024 + 100_000);
    expect(held(consumer)).toEqual(held(producer));
  });

  it('ends with equal rows from any start, and fetches no more than the differences', () => {
    const key = fc.nat(400).map((i) => `k${i}`);
    const differences = fc.record({
      changed: fc.uniqueArray(key, { maxLength: 8 }),
      missing: fc.uniqueArray(key, { maxLength: 8 }),
      // No key of the producer: that would be one more difference.
      extra: fc.uniqueArray(
        fc.string({ maxLength: 4 }).filter((one) => !one.startsWith('k')),
        { maxLength: 8 },
      ),
    });
    const base = pair(names(400));
    const copies = { producer: base.producer.store.copy(), consumer: base.consumer.store.copy() };
    fc.assert(
      fc.property(differences, ({ changed, missing, extra }) => {
        const producer = base.producer.restart(copies.producer.copy());
        const consumer = new ConsumerEnd(copies.consumer.copy());
        plant(consumer, Object.fromEntries([...changed, ...extra].map((one) => [one, 'other'])));
        forget(consumer, missing);
        const different = new Set([...changed, ...missing]).size;
        const { fetched, requests } = reconcile(producer, consumer);
        expect(held(consumer)).toEqual(held(producer));
        expect(fetched).toBeLessThanOrEqual(different);
        expect(requests).toBeLessThanOrEqual(4);
      }),
      { numRuns: 30 },
    );
  });
});
