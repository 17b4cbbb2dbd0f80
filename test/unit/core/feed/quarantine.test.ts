import { expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import type { Judge } from '../../../../core/feed/quarantine.ts';
import { dropTable } from '../../../../core/feed/table.ts';
import { quarantineTopic } from '../../../../core/feed/topics.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { asText } from '../../../../core/store/bytes.ts';
import type { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { subscribeTo } from '../../../../core/store/topics.ts';
import { ConsumerEnd, held, ProducerEnd, storedContents } from './feed-support.ts';

/** Bodies that begin with "bad" do not have the form that their keys require. */
const judge: Judge = ({ body }) =>
  asText(body).startsWith('bad') ? { reason: `a body "${asText(body)}"`, refs: ['shop'] } : undefined;

class Consumer extends ConsumerEnd {
  constructor(store?: MemoryStore) {
    super(store);
    this.feed = this.store.write((t) => FeedConsumer.open(t, { name: 'upstream', judge }));
  }

  take(producer: ProducerEnd) {
    const batch = producer.batch(this.tuple.cursor);
    const changes = batch ? this.apply(batch) : [];
    producer.acknowledge(this.tuple.cursor);
    return changes.map(({ key, before, after }) => [key, before && asText(before.body), after && asText(after.body)]);
  }

  /** The rows that the rooms see. */
  get sound(): Record<string, string> {
    return this.store.read((reader) =>
      Object.fromEntries(
        [...this.feed.sound.rows(reader)].map((row) => {
          const { key, body } = this.feed.sound.content(reader, row.content!);
          expect(this.feed.sound.get(reader, hash128(key))).toEqual(row);
          return [key, asText(body)];
        }),
      ),
    );
  }

  get quarantined() {
    return this.store.read((reader) => this.feed.quarantined(reader)).map(({ key, reason }) => [key, reason]);
  }
}

it('a malformed entry is stored as received, the cursor moves on, and the rooms keep the former form', () => {
  const [producer, consumer] = [new ProducerEnd(), new Consumer()];
  producer.put('a', 'good');
  consumer.take(producer);
  producer.put('a', 'bad');
  producer.put('b', 'bad too');
  producer.put('c', 'fine');
  expect(consumer.take(producer)).toEqual([['c', undefined, 'fine']]);
  expect(consumer.tuple.cursor).toBe(producer.head);
  expect(held(consumer)).toEqual({ a: 'bad', b: 'bad too', c: 'fine' });
  expect(consumer.sound).toEqual({ a: 'good', c: 'fine' });
  expect(consumer.quarantined.sort()).toEqual([
    ['a', 'a body "bad"'],
    ['b', 'a body "bad too"'],
  ]);
});

it('the next valid form ends the quarantine, and is reported as a change of the last valid form', () => {
  const [producer, consumer] = [new ProducerEnd(), new Consumer()];
  producer.put('a', 'good');
  consumer.take(producer);
  for (const body of ['bad', 'bad again']) {
    producer.put('a', body);
    expect(consumer.take(producer)).toEqual([]);
  }
  producer.put('a', 'better');
  expect(consumer.take(producer)).toEqual([['a', 'good', 'better']]);
  expect(consumer.quarantined).toEqual([]);
  expect(storedContents(consumer.store)).toBe(1);
});

it('the removal of the key is reported with the last valid form, or not at all if there was none', () => {
  const [producer, consumer] = [new ProducerEnd(), new Consumer()];
  producer.put('a', 'good');
  consumer.take(producer);
  producer.put('a', 'bad');
  producer.put('b', 'bad');
  consumer.take(producer);
  producer.remove('a');
  producer.remove('b');
  expect(consumer.take(producer)).toEqual([['a', 'good', undefined]]);
  expect(consumer.quarantined).toEqual([]);
  expect(storedContents(consumer.store)).toBe(0);
});

it('a quarantine survives its process, and goes with its table', () => {
  const [producer, consumer] = [new ProducerEnd(), new Consumer()];
  producer.put('a', 'good');
  consumer.take(producer);
  producer.put('a', 'bad');
  consumer.take(producer);
  const again = new Consumer(consumer.store);
  expect(again.sound).toEqual({ a: 'good' });
  expect(again.quarantined).toHaveLength(1);
  again.store.write((t) => dropTable(t, 'upstream'));
  expect(again.quarantined).toEqual([]);
  expect(storedContents(again.store)).toBe(0);
});

it('the quarantined keys are reported once for each transaction that changes them', () => {
  const [producer, consumer] = [new ProducerEnd(), new Consumer()];
  let announcements = 0;
  subscribeTo(consumer.store, quarantineTopic, consumer.feed.name, () => announcements++);
  producer.put('a', 'bad');
  producer.put('b', 'bad');
  consumer.take(producer);
  expect(announcements).toBe(1);
  producer.put('c', 'good');
  consumer.take(producer);
  expect(announcements).toBe(1);
  producer.put('a', 'good');
  consumer.take(producer);
  expect(announcements).toBe(2);
});

it('a session begins again with the first revision if every reported entry is malformed, and only then', () => {
  const [producer, consumer] = [new ProducerEnd(), new Consumer()];
  const begun = () => {
    consumer.store.write((t) => consumer.feed.restartIfAllQuarantined(t));
    return consumer.tuple.epoch;
  };
  producer.put('a', 'bad');
  consumer.take(producer);
  expect([begun(), held(consumer), consumer.quarantined.length]).toEqual(['', { a: 'bad' }, 1]);
  // Of another history: such a child would report nothing to a parent that has a tuple of the child.
  const other = new ProducerEnd();
  other.put('a', 'good');
  expect(consumer.take(other)).toEqual([['a', undefined, 'good']]);
  const { epoch } = consumer.tuple;
  other.put('a', 'bad');
  other.put('b', 'bad');
  consumer.take(other);
  expect([begun(), consumer.sound]).toEqual([epoch, { a: 'good' }]);
});
