import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentHash, decodeContent, encodeContent, referenceCount } from '../../../../core/feed/content.ts';
import { dropTable, LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ConsumerEnd, content, held, ProducerEnd, storedContents } from './feed-support.ts';

const countOf = (store: MemoryStore, key: string, body: string) =>
  store.write((t) => referenceCount(t, { hash: contentHash(content(key, body)) }));

describe('a content', () => {
  it('is read back from its record, whatever its parts are', () => {
    const part = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), part, part, (key, attributes, body) => {
        const { key: back, ...parts } = decodeContent(encodeContent({ key, attributes, body }));
        expect(back).toBe(key);
        expect(Buffer.concat([parts.attributes, Buffer.of(1), parts.body])).toEqual(
          Buffer.concat([attributes, Buffer.of(1), body]),
        );
      }),
    );
  });

  it('has another hash when the same bytes are split into other parts', () => {
    const [a, b] = [
      { key: 'k', attributes: Buffer.from('xy'), body: Buffer.from('z') },
      { key: 'k', attributes: Buffer.from('x'), body: Buffer.from('yz') },
    ];
    expect(contentHash(a)).not.toEqual(contentHash(b));
  });

  it('is stored once, however many tables name it, and is removed with the last row', () => {
    const producer = new ProducerEnd();
    const { store } = producer;
    const consumer = new ConsumerEnd(store);
    producer.put('a', '1');
    consumer.apply(producer.batch(0)!);
    expect([storedContents(store), countOf(store, 'a', '1')]).toEqual([1, 2]);
    producer.remove('a');
    expect([storedContents(store), countOf(store, 'a', '1')]).toEqual([1, 1]);
    consumer.apply(producer.batch(1)!);
    expect([storedContents(store), countOf(store, 'a', '1')]).toEqual([0, 0]);
  });

  it('is shared by reference without the caller passing its bytes', () => {
    const producer = new ProducerEnd();
    const { store } = producer;
    const source = store.write((t) => LocalTable.open(t, 'source/center.retail'));
    store.write((t) => source.put(t, content('a', '1'), 4));
    const share = () =>
      store.write((t) => {
        const { content: reference } = source.get(t, hash128('a'))!;
        return producer.feed.putReference(t, hash128('a'), reference!, 4);
      });
    expect([share(), share()]).toEqual([true, false]);
    expect(countOf(store, 'a', '1')).toBe(2);
    store.write((t) => source.remove(t, hash128('a')));
    expect(held(producer)).toEqual({ a: '1' });
    expect(countOf(store, 'a', '1')).toBe(1);
  });

  it('is released by a row that gets another content', () => {
    const producer = new ProducerEnd();
    const consumer = new ConsumerEnd();
    for (const body of ['1', '2', '3']) {
      producer.put('a', body);
      consumer.apply(producer.batch(consumer.tuple.cursor)!);
    }
    for (const { store } of [producer, consumer]) {
      expect([storedContents(store), countOf(store, 'a', '3')]).toEqual([1, 1]);
    }
  });

  it('is counted once for a row that gets it again', () => {
    const producer = new ProducerEnd();
    const consumer = new ConsumerEnd();
    producer.put('a', '1', 1);
    consumer.apply(producer.batch(0)!);
    producer.put('a', '1', 2);
    consumer.apply(producer.batch(1)!);
    expect([countOf(producer.store, 'a', '1'), countOf(consumer.store, 'a', '1')]).toEqual([1, 1]);
  });

  it('is removed with the only table whose rows named it', () => {
    const producer = new ProducerEnd();
    const { store } = producer;
    const source = store.write((t) => LocalTable.open(t, 'source/center.retail'));
    store.write((t) => source.put(t, content('a', '1'), 0));
    producer.put('a', '1');
    producer.put('b', '1');
    store.write((t) => dropTable(t, 'mailbox/kid'));
    expect([countOf(store, 'a', '1'), countOf(store, 'b', '1'), storedContents(store)]).toEqual([1, 0, 1]);
  });
});

describe('a dropped table', () => {
  it('starts anew under its name: no rows, no revisions, another epoch', () => {
    const producer = new ProducerEnd();
    const { epoch, incarnation } = producer.feed;
    producer.put('a', '1');
    producer.store.write((t) => dropTable(t, 'mailbox/kid'));
    producer.feed = producer.open(incarnation);
    expect(held(producer)).toEqual({});
    expect(producer.head).toBe(0);
    expect(producer.feed.epoch).not.toBe(epoch);
    producer.put('b', '1');
    expect(producer.batch(0)).toMatchObject({ from: 0, to: 1, head: 1 });
  });
});
