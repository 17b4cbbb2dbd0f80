import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { Judge } from '../../../../core/feed/quarantine.ts';
import { beyondQuota, quarantinedMax, type RowQuota } from '../../../../core/feed/row-quota.ts';
import { dropTable } from '../../../../core/feed/table.ts';
import { shortageTopic } from '../../../../core/feed/topics.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { prefixOf } from '../../../../core/store/keyspace.ts';
import type { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ConsumerEnd, held, ProducerEnd, storedContents } from './feed-support.ts';

class Consumer extends ConsumerEnd {
  quota: RowQuota;
  asked = new Set<string>();

  constructor(quota: RowQuota, store?: MemoryStore) {
    super(store);
    this.quota = quota;
    const judge: Judge = ({ key, body }) =>
      asText(body).startsWith('bad') && !this.asked.has(key) ? { reason: 'nobody asked' } : undefined;
    this.feed = this.store.write((t) => FeedConsumer.open(t, { name: 'reported', judge, quota: () => this.quota }));
  }

  take(producer: ProducerEnd): string[] {
    const changes: string[] = [];
    for (;;) {
      const batch = producer.batch(this.tuple.cursor);
      if (!batch) return changes;
      changes.push(...this.apply(batch).map(({ key }) => key));
      producer.acknowledge(this.tuple.cursor);
    }
  }

  get shortage() {
    return this.store.read((reader) => this.feed.shortage(reader));
  }

  end(): boolean {
    return this.store.write((t) => this.feed.endShortage(t));
  }
}

const open = { entries: 1_000_000, bytes: 1_000_000_000 };

describe('a row beyond the quota', () => {
  it('is not stored; the cursor goes on, and what was there stays', () => {
    const [producer, consumer] = [new ProducerEnd(), new Consumer({ ...open, entries: 2 })];
    for (const key of ['a', 'b', 'c', 'd']) producer.put(key, key);
    expect(consumer.take(producer)).toEqual(['a', 'b']);
    expect(held(consumer)).toEqual({ a: 'a', b: 'b' });
    expect(consumer.tuple.cursor).toBe(producer.head);
    expect(consumer.shortage).toMatchObject({
      refused: 2,
      key: 'd',
      reason: 'the quota of 2 entries is used',
      used: { entries: 2 },
    });
    expect(storedContents(consumer.store)).toBe(2);
  });

  it('may be a larger form of a row that is there: the former form stays', () => {
    const [producer, consumer] = [new ProducerEnd(), new Consumer({ ...open, bytes: 20 })];
    producer.put('a', 'short');
    consumer.take(producer);
    producer.put('a', 'x'.repeat(40));
    expect(consumer.take(producer)).toEqual([]);
    expect(held(consumer)).toEqual({ a: 'short' });
    producer.put('a', 'brief');
    expect(consumer.take(producer)).toEqual(['a']);
    producer.remove('a');
    expect(consumer.take(producer)).toEqual(['a']);
    producer.put('a', 'y'.repeat(12));
    expect(consumer.take(producer)).toEqual(['a']);
  });

  it('comes back when there is room, and not before', () => {
    const [producer, consumer] = [new ProducerEnd(), new Consumer({ ...open, entries: 2 })];
    const announced: string[] = [];
    consumer.store.subscribe(shortageTopic, (names) => announced.push(...names));
    for (const key of ['a', 'b', 'c']) producer.put(key, key);
    consumer.take(producer);
    expect(announced).toEqual(['reported']);
    expect(consumer.end()).toBe(false);
    producer.remove('a');
    consumer.take(producer);
    expect(consumer.end()).toBe(true);
    expect(consumer.shortage).toBeUndefined();
    expect(announced).toEqual(['reported', 'reported']);
  });

  it('comes back when the quota grows', () => {
    const [producer, consumer] = [new ProducerEnd(), new Consumer({ ...open, entries: 1 })];
    for (const key of ['a', 'b']) producer.put(key, key);
    consumer.take(producer);
    consumer.quota = { ...open, entries: 2 };
    expect(consumer.end()).toBe(true);
  });

  it('may be one of too many entries that are not valid', () => {
    const [producer, consumer] = [new ProducerEnd(), new Consumer(open)];
    for (let i = 0; i <= quarantinedMax; i++) producer.put(`bad${i}`, `bad${i}`);
    consumer.take(producer);
    expect(consumer.store.read((reader) => consumer.feed.quarantinedCount(reader))).toBe(quarantinedMax);
    expect(consumer.shortage).toMatchObject({ refused: 1, key: `bad${quarantinedMax}` });
    producer.put('good', 'good');
    expect(consumer.take(producer)).toEqual(['good']);
  });
});

it('the count of bytes and of entries that are not valid follows every change', () => {
  const [producer, consumer] = [new ProducerEnd(), new Consumer({ ...open, bytes: 30 })];
  for (let round = 0; round < 20; round++) {
    producer.put('a', 'bad');
    producer.put('b', 'x'.repeat(20));
    consumer.take(producer);
    expect(consumer.store.read((reader) => consumer.feed.quarantinedCount(reader))).toBe(1);
    producer.put('a', 'fine');
    producer.remove('b');
    consumer.take(producer);
    expect(consumer.store.read((reader) => consumer.feed.quarantinedCount(reader))).toBe(0);
    producer.remove('a');
    consumer.take(producer);
  }
  expect(consumer.shortage).toBeUndefined();
});

it('rows that were judged wrong are valid when they are asked for later', () => {
  const [producer, consumer] = [new ProducerEnd(), new Consumer(open)];
  producer.put('a', 'good');
  consumer.take(producer);
  producer.put('a', 'bad');
  producer.put('b', 'bad too');
  expect(consumer.take(producer)).toEqual([]);
  consumer.asked.add('a');
  const again = consumer.store.write((t) => consumer.feed.judgeAgain(t, ''));
  expect(again.map(({ key, before, after }) => [key, asText(before!.body), asText(after!.body)])).toEqual([
    ['a', 'good', 'bad'],
  ]);
  expect(consumer.store.read((reader) => consumer.feed.quarantinedCount(reader))).toBe(1);
  expect(storedContents(consumer.store)).toBe(2);
  producer.put('a', 'good again');
  expect(consumer.take(producer)).toEqual(['a']);
});

it('a table that a version without quotas has filled is counted when it is opened', () => {
  const [producer, before] = [new ProducerEnd(), new Consumer(open)];
  for (const key of ['a', 'b']) producer.put(key, key.repeat(10));
  before.take(producer);
  before.store.write((t) => {
    for (const [key] of [...t.scan({ from: prefixOf('rowUsage'), to: Buffer.from([0, 131]) })]) t.remove(key);
  });
  const consumer = new Consumer({ ...open, bytes: 30 }, before.store);
  producer.put('c', 'too much');
  expect(consumer.take(producer)).toEqual([]);
  expect(consumer.shortage?.used).toEqual({ entries: 2, bytes: 26 });
});

it('nothing is left of a dropped table', () => {
  const [producer, consumer] = [new ProducerEnd(), new Consumer(open)];
  producer.put('a', 'a');
  consumer.take(producer);
  consumer.store.write((t) => dropTable(t, 'reported'));
  const left = consumer.store.read((reader) => [
    ...reader.scan({ from: prefixOf('rowUsage'), to: Buffer.from([0, 131]) }),
  ]);
  expect(left).toEqual([]);
});

it('a row that becomes no larger always fits', () => {
  const full = { entries: 5, bytes: 100 };
  expect(beyondQuota(full, { entries: 0, bytes: 0 }, { entries: 1, bytes: 1 })).toBeUndefined();
  expect(beyondQuota(full, { entries: 0, bytes: 1 }, { entries: 5, bytes: 100 })).toContain('100 of the quota');
});
