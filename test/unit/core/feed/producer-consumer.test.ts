import { describe, expect, it, vi } from 'vitest';
import type { Batch, WireEntry } from '../../../../core/feed/feed.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { ConsumerEnd, content, held, ProducerEnd, shown, sync, tombstonesOf } from './feed-support.ts';

const keys = ['a', 'b', 'c'];
const entriesOf = (batch: Batch | undefined) => shown(batch?.entries ?? [], keys);
/** A batch of entries that a peer made up. */
const madeUp = (entries: readonly WireEntry[], from: number, to: number): Batch => ({
  entries,
  from,
  to,
  head: to,
  epoch: 'e',
  incarnation: 'i',
});
const entry = (key: string, body: string, revision: number, originRevision = 0): WireEntry => ({
  keyHash: hash128(key),
  revision,
  originRevision,
  content: content(key, body),
});

describe('a producer', () => {
  it('sends each key once, in its last state and at its last revision', () => {
    const producer = new ProducerEnd();
    for (const body of ['1', '2', '3']) producer.put('a', body);
    producer.put('b', '1');
    producer.put('a', '4');
    expect(entriesOf(producer.batch(0))).toEqual(['b=1@4', 'a=4@5']);
  });

  it('keeps the revision of a key that gets the same value again', () => {
    const producer = new ProducerEnd();
    expect(producer.put('a', '1', 3)).toBe(true);
    expect(producer.put('a', '1', 3)).toBe(false);
    expect(producer.head).toBe(1);
  });

  it('never replaces a value by one of an older origin revision, and does not remove it for one', () => {
    const producer = new ProducerEnd();
    producer.put('a', 'new', 5);
    expect(producer.put('a', 'old', 4)).toBe(false);
    expect(producer.remove('a', 4)).toBe(false);
    expect(held(producer)).toEqual({ a: 'new' });
    expect(producer.remove('a', 5)).toBe(true);
    expect(producer.put('a', 'old', 4)).toBe(false);
    expect(held(producer)).toEqual({});
  });

  it('keeps a tombstone until it is acknowledged, then forgets it and remembers its revision', () => {
    const producer = new ProducerEnd();
    producer.put('a', '1');
    producer.put('b', '1');
    producer.remove('a');
    producer.put('c', '1');
    const tombstones = () => tombstonesOf(producer);
    producer.acknowledge(2);
    expect(entriesOf(producer.batch(2))).toEqual(['-a@3', 'c=1@4']);
    expect([tombstones(), producer.purgeRevision]).toEqual([1, 0]);
    producer.acknowledge(4);
    expect(entriesOf(producer.batch(0))).toEqual(['b=1@2', 'c=1@4']);
    expect([tombstones(), producer.purgeRevision]).toEqual([0, 3]);
  });

  it('puts a removed key again, with a tombstone or without', () => {
    const producer = new ProducerEnd();
    producer.put('a', '1');
    producer.remove('a');
    producer.put('a', '1');
    expect(entriesOf(producer.batch(0))).toEqual(['a=1@3']);
    producer.remove('a');
    producer.acknowledge(4);
    producer.put('a', '1');
    expect(entriesOf(producer.batch(4))).toEqual(['a=1@5']);
    expect(producer.purgeRevision).toBe(4);
  });

  it('never moves an acknowledgement back, and refuses one beyond its head', () => {
    const producer = new ProducerEnd();
    producer.put('a', '1');
    producer.put('b', '1');
    producer.acknowledge(2);
    producer.acknowledge(1);
    expect(producer.store.read((reader) => producer.feed.acknowledged(reader))).toBe(2);
    expect(() => producer.acknowledge(3)).toThrow(expect.objectContaining({ code: 'Protocol' }));
  });

  it('sends nothing beyond the durable head', () => {
    const producer = new ProducerEnd();
    producer.put('a', '1');
    producer.put('b', '1');
    expect(entriesOf(producer.batch(0, {}, 1))).toEqual(['a=1@1']);
    expect(producer.batch(1, {}, 1)).toBeUndefined();
  });

  it('counts unacknowledged entries as its backlog', () => {
    const producer = new ProducerEnd();
    for (const key of keys) producer.put(key, 'x'.repeat(100));
    producer.acknowledge(1);
    const backlog = producer.store.read((reader) => producer.feed.backlog(reader));
    expect(backlog).toMatchObject({ entries: 2, oldestRevision: 2 });
    expect(backlog.bytes).toBeGreaterThan(200);
    producer.acknowledge(3);
    expect(producer.store.read((reader) => producer.feed.backlog(reader))).toEqual({ entries: 0, bytes: 0 });
  });

  it('estimates the bytes of a long backlog from some of its contents, and counts at most a thousand', () => {
    const producer = new ProducerEnd();
    const backlog = () => producer.store.read((reader) => producer.feed.backlog(reader));
    producer.put('k0', 'x'.repeat(100));
    const one = backlog().bytes;
    for (let i = 1; i < 64; i++) producer.put(`k${i}`, 'x'.repeat(100));
    const few = backlog();
    for (let i = 0; i < 1_500; i++) producer.put(`more-${i}`, 'x'.repeat(100));
    const contentOf = vi.spyOn(producer.feed, 'contentOf');
    const many = backlog();
    expect([few.entries, many.entries]).toEqual([64, 1_000]);
    expect(Math.abs(few.bytes - 64 * one) / few.bytes).toBeLessThan(0.1);
    expect(Math.abs(many.bytes - 1_000 * one) / many.bytes).toBeLessThan(0.1);
    expect(contentOf.mock.calls.length).toBeLessThanOrEqual(64);
  });
});

describe('a batch', () => {
  it('holds at most the allowed number of entries, and continues where the last one ended', () => {
    const producer = new ProducerEnd();
    for (const key of keys) producer.put(key, '1');
    const first = producer.batch(0, { maxEntries: 2 });
    expect(entriesOf(first)).toEqual(['a=1@1', 'b=1@2']);
    expect(first).toMatchObject({ from: 0, to: 2, head: 3 });
    expect(entriesOf(producer.batch(2, { maxEntries: 2 }))).toEqual(['c=1@3']);
  });

  it.each([
    ['entries, up to the head if that is all', { maxEntries: 2 }, ['a=1@1', 'b=1@2']],
    ['no entries at all', { maxEntries: 9 }, []],
  ])('reaches to the durable head when the last revisions were purged: %s', (_, limits, expected) => {
    const producer = new ProducerEnd();
    for (const key of expected.length > 0 ? keys : ['c']) producer.put(key, '1');
    producer.remove('c');
    const { head } = producer;
    producer.acknowledge(head);
    const [batch, consumer] = [producer.batch(0, limits), new ConsumerEnd()];
    expect(entriesOf(batch)).toEqual(expected);
    consumer.apply(batch!);
    expect(consumer.tuple.cursor).toBe(head);
    expect(producer.batch(head)).toBeUndefined();
  });

  it('ends before the entry that would exceed its byte limit', () => {
    const producer = new ProducerEnd();
    for (const key of keys) producer.put(key, 'x'.repeat(1000));
    const batch = producer.batch(0, { maxBytes: 2500 });
    expect(batch).toMatchObject({ from: 0, to: 2 });
    expect(batch?.entries).toHaveLength(2);
  });

  it('holds an entry larger than its byte limit alone', () => {
    const producer = new ProducerEnd();
    producer.put('a', '1');
    producer.put('b', 'x'.repeat(1000));
    producer.put('c', '1');
    const sizes = [0, 1, 2].map((after) => producer.batch(after, { maxBytes: 300 })?.entries.length);
    expect(sizes).toEqual([1, 1, 1]);
  });
});

describe('a consumer', () => {
  it('has the rows of its producer, and reports the changes of each batch', () => {
    const [producer, consumer] = [new ProducerEnd(), new ConsumerEnd()];
    producer.put('a', '1');
    producer.put('b', '1');
    sync(producer, consumer);
    producer.put('a', '2');
    producer.remove('b');
    producer.put('c', '1');
    const changes = consumer.apply(producer.batch(2)!);
    const body = (value?: { body: Uint8Array }) => value && Buffer.from(value.body).toString();
    expect(changes.map(({ key, before, after }) => [key, body(before), body(after)])).toEqual([
      ['a', '1', '2'],
      ['b', '1', undefined],
      ['c', undefined, '1'],
    ]);
    expect(held(consumer)).toEqual({ a: '2', c: '1' });
  });

  it('reports no change when a value arrives again, but keeps its newer origin revision', () => {
    const consumer = new ConsumerEnd();
    consumer.apply(madeUp([entry('a', '1', 1, 3)], 0, 1));
    expect(consumer.apply(madeUp([entry('a', '1', 2, 7)], 1, 2))).toEqual([]);
    expect(consumer.apply(madeUp([entry('a', '2', 3, 5)], 2, 3))).toEqual([]);
    expect(held(consumer)).toEqual({ a: '1' });
  });

  it('records its cursor, and the head that its producer announced with it', () => {
    const [producer, consumer] = [new ProducerEnd(), new ConsumerEnd()];
    for (const key of keys) producer.put(key, '1');
    consumer.apply(producer.batch(0, { maxEntries: 2 })!);
    const { epoch, incarnation } = producer.feed;
    expect(new ConsumerEnd(consumer.store).tuple).toEqual({ epoch, incarnation, cursor: 2, seenHead: 3 });
  });

  it('ignores a batch that it has already', () => {
    const [producer, consumer] = [new ProducerEnd(), new ConsumerEnd()];
    producer.put('a', '1');
    const old = producer.batch(0)!;
    sync(producer, consumer);
    producer.put('a', '2');
    sync(producer, consumer);
    const before = consumer.tuple;
    expect(consumer.apply(old)).toEqual([]);
    expect(held(consumer)).toEqual({ a: '2' });
    expect(consumer.tuple).toEqual(before);
  });

  it.each([
    ['a gap', 2],
    ['an overlap', 0],
  ])('refuses %s between batches and keeps its cursor', (_, from) => {
    const consumer = new ConsumerEnd();
    consumer.apply(madeUp([entry('a', '1', 1)], 0, 1));
    const odd = madeUp([entry('b', '1', 3)], from, 3);
    expect(() => consumer.apply(odd)).toThrow(expect.objectContaining({ code: 'Protocol', retry: 'resync' }));
    expect(held(consumer)).toEqual({ a: '1' });
    expect(consumer.tuple.cursor).toBe(1);
  });

  it('refuses a batch of another epoch', () => {
    const consumer = new ConsumerEnd();
    consumer.apply(madeUp([entry('a', '1', 1)], 0, 1));
    const foreign = { ...madeUp([entry('b', '1', 2)], 1, 2), epoch: 'other' };
    expect(() => consumer.apply(foreign)).toThrow(expect.objectContaining({ code: 'Protocol' }));
    expect(held(consumer)).toEqual({ a: '1' });
  });

  it('refuses a batch with an entry whose hash is not the hash of its key', () => {
    const consumer = new ConsumerEnd();
    const forged = { ...entry('b', 'forged', 2), keyHash: hash128('a') };
    const batch = madeUp([entry('c', '1', 1), forged], 0, 2);
    expect(() => consumer.apply(batch)).toThrow(expect.objectContaining({ code: 'Protocol' }));
    expect(held(consumer)).toEqual({});
    expect(consumer.tuple.cursor).toBe(0);
  });

  it('never replaces a value by one of an older origin revision, nor removes it for one, yet moves its cursor', () => {
    const consumer = new ConsumerEnd();
    consumer.apply(madeUp([entry('a', 'new', 1, 5), entry('b', 'new', 2, 5)], 0, 2));
    const older = [entry('a', 'old', 3, 4), { keyHash: hash128('b'), revision: 4, originRevision: 4 }];
    expect(consumer.apply(madeUp(older, 2, 4))).toEqual([]);
    expect(held(consumer)).toEqual({ a: 'new', b: 'new' });
    expect(consumer.tuple.cursor).toBe(4);
  });

  it('accepts a tombstone of a key that it never had', () => {
    const consumer = new ConsumerEnd();
    const gone = { keyHash: hash128('a'), revision: 1, originRevision: 0 };
    expect(consumer.apply(madeUp([gone], 0, 1))).toEqual([]);
    expect([held(consumer), tombstonesOf(consumer)]).toEqual([{}, 0]);
  });
});
