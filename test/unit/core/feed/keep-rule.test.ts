import { describe, expect, it } from 'vitest';
import { FeedConsumer, type KeepRule } from '../../../../core/feed/consumer.ts';
import { answer, Reconciliation } from '../../../../core/feed/reconcile.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ConsumerEnd, held, ProducerEnd, sync } from './feed-support.ts';

const keepRule: KeepRule = {
  keepEntryKeyOf: (key) => (key.startsWith('keep ') ? undefined : `keep ${key}`),
  keptBy: (key) => (key.startsWith('keep ') ? key.slice('keep '.length) : undefined),
};

/** A consumer with rows of a producer that has lost its store since. */
function survivor(...keys: string[]): { producer: ProducerEnd; consumer: ConsumerEnd } {
  const consumer = new ConsumerEnd();
  consumer.feed = consumer.store.write((t) => FeedConsumer.open(t, { name: 'upstream', keepRule }));
  const lost = new ProducerEnd();
  for (const key of keys) lost.put(key, 'old', 7);
  sync(lost, consumer);
  return { producer: new ProducerEnd(new MemoryStore(), 2), consumer };
}

const seed = Buffer.alloc(8, 7);

function reconcile(producer: ProducerEnd, consumer: ConsumerEnd) {
  const reconciliation = consumer.store.read((reader) => new Reconciliation(reader, consumer.feed, seed));
  for (let request = reconciliation.next(); request; request = reconciliation.next()) {
    const asked = request;
    const reply = producer.store.read((reader) =>
      answer(reader, producer.feed, asked, producer.feed.head(reader), { maxBytes: 256 * 1024 }),
    );
    consumer.store.write((t) => reconciliation.absorb(t, reply));
  }
  return consumer.store.write((t) => reconciliation.finish(t));
}

/** The producer's batch since the consumer's cursor. */
function receive(producer: ProducerEnd, consumer: ConsumerEnd) {
  const batch = producer.batch(consumer.tuple.cursor);
  return batch ? consumer.apply(batch) : [];
}

describe('a row that its producer has lost and cannot make anew', () => {
  it('stays if the producer sends a keep entry, and goes without one', () => {
    const { producer, consumer } = survivor('a', 'b');
    producer.put('keep a', '');
    expect(reconcile(producer, consumer).map(({ key }) => key)).toEqual(['b']);
    expect(held(consumer)).toEqual({ a: 'old', 'keep a': '' });
  });

  it('stays over any number of reconciliations', () => {
    const { producer, consumer } = survivor('a');
    producer.put('keep a', '');
    reconcile(producer, consumer);
    expect(reconcile(producer, consumer)).toEqual([]);
    expect(held(consumer)).toEqual({ a: 'old', 'keep a': '' });
  });

  it('is replaced by the producer’s new row, even of an older write, and that row stays when the keep entry goes', () => {
    const { producer, consumer } = survivor('a');
    producer.put('keep a', '');
    reconcile(producer, consumer);
    producer.put('a', 'new', 3);
    producer.remove('keep a');
    receive(producer, consumer);
    expect(held(consumer)).toEqual({ a: 'new' });
  });

  it('stays unchanged when the producer has made the same row', () => {
    const { producer, consumer } = survivor('a');
    producer.put('keep a', '');
    reconcile(producer, consumer);
    producer.put('a', 'old', 7);
    producer.remove('keep a');
    expect(receive(producer, consumer).map(({ key }) => key)).toEqual(['keep a']);
    expect(held(consumer)).toEqual({ a: 'old' });
  });

  it('goes with its keep entry if the producer makes no row: no placement wants the object any more', () => {
    const { producer, consumer } = survivor('a');
    producer.put('keep a', '');
    reconcile(producer, consumer);
    producer.remove('keep a');
    expect(receive(producer, consumer).map(({ key }) => key)).toEqual(['keep a', 'a']);
    expect(held(consumer)).toEqual({});
  });

  it('goes when a reconciliation finds neither the row nor the keep entry', () => {
    const { producer, consumer } = survivor('a');
    producer.put('keep a', '');
    reconcile(producer, consumer);
    const again = new ProducerEnd(new MemoryStore(), 3);
    expect(
      reconcile(again, consumer)
        .map(({ key }) => key)
        .sort(),
    ).toEqual(['a', 'keep a']);
  });

  it('stays when a reconciliation finds the row made and the keep entry gone', () => {
    const { producer, consumer } = survivor('a');
    producer.put('keep a', '');
    reconcile(producer, consumer);
    const again = new ProducerEnd(new MemoryStore(), 3);
    again.put('a', 'old', 7);
    expect(reconcile(again, consumer).map(({ key }) => key)).toEqual(['keep a']);
    expect(held(consumer)).toEqual({ a: 'old' });
  });

  it('is replaced when a reconciliation finds another row made, even of an older write', () => {
    const { producer, consumer } = survivor('a');
    producer.put('keep a', '');
    reconcile(producer, consumer);
    const again = new ProducerEnd(new MemoryStore(), 3);
    again.put('a', 'new', 3);
    reconcile(again, consumer);
    expect(held(consumer)).toEqual({ a: 'new' });
  });

  it('does not matter to a consumer without the row', () => {
    const { producer, consumer } = survivor();
    producer.put('keep a', '');
    reconcile(producer, consumer);
    producer.remove('keep a');
    expect(receive(producer, consumer).map(({ key }) => key)).toEqual(['keep a']);
    expect(consumer.store.read((reader) => consumer.feed.get(reader, hash128('a')))).toBeUndefined();
  });
});
