import { beforeEach, describe, expect, it } from 'vitest';
import type { ResumeTuple } from '../../../../core/feed/feed.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ConsumerEnd, held, ProducerEnd, resumes, sync } from './feed-support.ts';

/**
 * A producer in its second incarnation: the first one ended at revision 4, the second is at 7, and the tombstone at 3 was purged. Each rule is broken by a
 * tuple that satisfies all others.
 */
describe('a consumer resumes from its cursor', () => {
  let producer: ProducerEnd;
  let good: ResumeTuple;
  let first: string;

  beforeEach(() => {
    producer = new ProducerEnd();
    first = producer.feed.incarnation;
    producer.put('a', '1');
    producer.put('b', '1');
    producer.remove('a');
    producer.put('c', '1');
    producer.acknowledge(3);
    producer.restart();
    for (const key of ['d', 'e', 'f']) producer.put(key, '1');
    good = { epoch: producer.feed.epoch, incarnation: producer.feed.incarnation, cursor: 5, seenHead: 6 };
    expect([producer.head, producer.purgeRevision]).toEqual([7, 3]);
  });

  it('if the producer knows its epoch and incarnation, and its cursor is between the purged and the announced revision', () => {
    expect(resumes(producer, good)).toBe(true);
    expect(resumes(producer, { ...good, cursor: 3, seenHead: 7 })).toBe(true);
    expect(resumes(producer, { ...good, incarnation: first, cursor: 4, seenHead: 4 })).toBe(true);
  });

  it('if it has never attached, whatever was purged', () => {
    expect(resumes(producer, new ConsumerEnd().tuple)).toBe(true);
  });

  it('not if its epoch is another one', () => {
    expect(resumes(producer, { ...good, epoch: '0'.repeat(32) })).toBe(false);
  });

  it('not if the producer does not know the incarnation', () => {
    expect(resumes(producer, { ...good, incarnation: '0'.repeat(32) })).toBe(false);
  });

  it('not if an incarnation announced more than it reached', () => {
    expect(resumes(producer, { ...good, seenHead: 8 })).toBe(false);
    expect(resumes(producer, { ...good, incarnation: first, cursor: 4, seenHead: 5 })).toBe(false);
  });

  it('not if its cursor is beyond the announced head', () => {
    expect(resumes(producer, { ...good, cursor: 7, seenHead: 6 })).toBe(false);
  });

  it('not if a tombstone behind its cursor was purged', () => {
    expect(resumes(producer, { ...good, cursor: 2 })).toBe(false);
  });
});

describe('a restored producer', () => {
  const wasPutBack = ({ store, feed }: ProducerEnd, tuple: ResumeTuple) =>
    store.read((reader) => feed.wasPutBack(reader, tuple));

  function attached(): { producer: ProducerEnd; consumer: ConsumerEnd; copy: MemoryStore } {
    const producer = new ProducerEnd();
    const consumer = new ConsumerEnd();
    producer.put('a', '1');
    sync(producer, consumer);
    return { producer, consumer, copy: producer.store.copy() };
  }

  it('is recognised by a consumer with revisions that it never made, in this incarnation or an unknown one', () => {
    const { producer, consumer, copy } = attached();
    producer.put('b', '1');
    sync(producer, consumer);
    expect(wasPutBack(new ProducerEnd(copy.copy()), consumer.tuple)).toBe(true);
    producer.restart();
    producer.put('c', '1');
    sync(producer, consumer);
    expect(wasPutBack(new ProducerEnd(copy.copy(), 2), consumer.tuple)).toBe(true);
  });

  it('is not a producer that continues, that was emptied, or that lost in a crash only announced revisions', () => {
    const { producer, consumer, copy } = attached();
    expect(wasPutBack(producer.restart(), consumer.tuple)).toBe(false);
    expect(wasPutBack(new ProducerEnd(undefined, 3), consumer.tuple)).toBe(false);
    expect(wasPutBack(new ProducerEnd(copy, 4), { ...consumer.tuple, seenHead: 5 })).toBe(false);
    expect(wasPutBack(producer, { ...consumer.tuple, incarnation: '', cursor: 9 })).toBe(false);
  });
});

describe('the history of a consumer', () => {
  const isOther = ({ store, feed }: ProducerEnd, tuple: ResumeTuple) =>
    store.read((reader) => feed.isOtherHistory(reader, tuple));

  it('differs from the producer’s if the producer was restored or emptied, and possibly during a reconciliation', () => {
    const producer = new ProducerEnd();
    const consumer = new ConsumerEnd();
    expect(isOther(producer, consumer.tuple)).toBe(false);
    producer.put('a', '1');
    sync(producer, consumer);
    const copy = producer.store.copy();
    expect(isOther(new ProducerEnd(copy.copy()), consumer.tuple)).toBe(false);
    producer.put('b', '1');
    sync(producer, consumer);
    expect(isOther(producer.restart(), consumer.tuple)).toBe(false);
    expect(isOther(producer, { ...consumer.tuple, incarnation: '', cursor: 0, seenHead: 0 })).toBe(true);
    expect(isOther(new ProducerEnd(copy.copy()), consumer.tuple)).toBe(true);
    expect(isOther(new ProducerEnd(undefined, 3), consumer.tuple)).toBe(true);
  });
});

describe('the incarnations of a producer', () => {
  it('are kept for its last 64 starts', () => {
    const producer = new ProducerEnd();
    const oldest = producer.feed.incarnation;
    producer.put('a', '1');
    const tuple = { epoch: producer.feed.epoch, incarnation: oldest, cursor: 1, seenHead: 1 };
    for (let start = 2; start <= 64; start++) producer.restart();
    expect(resumes(producer, tuple)).toBe(true);
    producer.restart();
    expect(resumes(producer, tuple)).toBe(false);
  });

  it('are one for each start, however often the table is opened in it', () => {
    const producer = new ProducerEnd();
    const { incarnation } = producer.feed;
    producer.put('a', '1');
    producer.open(incarnation);
    const tuple = { epoch: producer.feed.epoch, incarnation, cursor: 1, seenHead: 1 };
    expect(resumes(producer, tuple)).toBe(true);
  });

  it('have one epoch, and an emptied producer has another', () => {
    const producer = new ProducerEnd();
    const { epoch } = producer.feed;
    expect(producer.restart().feed.epoch).toBe(epoch);
    expect(new ProducerEnd(undefined, 2).feed.epoch).not.toBe(epoch);
  });
});

describe('after a producer was restored from an older copy', () => {
  it('a consumer that received later revisions reconciles, even when the producer has made more revisions since', () => {
    const [producer, consumer] = [new ProducerEnd(), new ConsumerEnd()];
    producer.put('a', '1');
    const copy = producer.store.copy();
    producer.put('b', '1');
    sync(producer, consumer);
    producer.restart(copy);
    for (const key of ['c', 'd', 'e']) producer.put(key, '1');
    expect(resumes(producer, consumer.tuple)).toBe(false);
  });

  it('a consumer that received no later revisions resumes', () => {
    const [producer, consumer] = [new ProducerEnd(), new ConsumerEnd()];
    producer.put('a', '1');
    sync(producer, consumer);
    const copy = producer.store.copy();
    producer.put('b', '1');
    producer.restart(copy);
    expect(resumes(producer, consumer.tuple)).toBe(true);
  });
});

describe('after a producer lost unflushed revisions', () => {
  it('a consumer reconciles if a lost revision had superseded one that its batch omitted for this reason', () => {
    const store = new MemoryStore({ manualFlush: true });
    const [producer, consumer] = [new ProducerEnd(store), new ConsumerEnd()];
    producer.put('a', '1');
    producer.put('b', '1');
    store.completeFlush();
    producer.put('a', '2');
    consumer.apply(producer.batch(0, {}, 2)!);
    expect(held(consumer)).toEqual({ b: '1' });
    store.crash();
    producer.restart();
    expect(held(producer)).toEqual({ a: '1', b: '1' });
    expect(resumes(producer, consumer.tuple)).toBe(false);
  });
});
