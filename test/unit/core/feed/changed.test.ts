/** A producer announces its changes, so that no writer of rows has to remember to. */
import { describe, expect, it } from 'vitest';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { producerRowsTopic } from '../../../../core/feed/topics.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { subscribeTo } from '../../../../core/store/topics.ts';
import { content } from './feed-support.ts';

function bench() {
  const store = new MemoryStore();
  /** The head at each announcement. */
  const heads: number[] = [];
  const open = (name: string, changed: () => void) =>
    subscribed(
      store.write((t) => FeedProducer.open(t, { name, bootNonce: 'boot', random: new SeededRandom(1) })),
      changed,
    );
  const subscribed = (producer: FeedProducer, changed: () => void) => {
    subscribeTo(store, producerRowsTopic, producer.name, changed);
    return producer;
  };
  const head = () => store.read((reader) => feed.head(reader));
  const feed: FeedProducer = open('mailbox/kid', () => heads.push(head()));
  const announced = () => heads.splice(0);
  return { store, feed, open, announced, heads };
}

describe('the changes of a feed', () => {
  it('are announced once for a commit, after the commit', () => {
    const { store, feed, heads, announced } = bench();
    store.write((t) => {
      for (const key of ['a', 'b', 'c']) feed.put(t, content(key, '1'), 0);
      expect(heads).toEqual([]);
    });
    expect(announced()).toEqual([3]);
    store.write((t) => feed.remove(t, hash128('a'), 0));
    expect(announced()).toEqual([4]);
  });

  it('are announced for every kind of change: by content, by reference, and removals', () => {
    const { store, feed, open, announced } = bench();
    const other = open('mailbox/other', () => {});
    store.write((t) => other.put(t, content('a', '1'), 0));
    const { content: reference } = store.read((reader) => other.get(reader, hash128('a')))!;
    store.write((t) => feed.putReference(t, hash128('a'), reference!, 0));
    expect(announced()).toEqual([1]);
  });

  it('are not announced if there are none', () => {
    const { store, feed, announced } = bench();
    store.write((t) => feed.put(t, content('a', '1'), 5));
    announced();
    store.write((t) => {
      feed.put(t, content('a', '1'), 5);
      feed.put(t, content('a', 'of before'), 4);
      feed.remove(t, hash128('b'), 0);
      feed.acknowledge(t, 1);
    });
    expect(announced()).toEqual([]);
  });

  it('are not announced if the transaction fails, and are announced after the next one', () => {
    const { store, feed, announced } = bench();
    const fails = () =>
      store.write((t) => {
        feed.put(t, content('a', '1'), 0);
        throw new Error('no');
      });
    expect(fails).toThrow('no');
    expect(announced()).toEqual([]);
    store.write((t) => feed.put(t, content('a', '2'), 0));
    expect(announced()).toEqual([1]);
  });

  it('may follow from another change, and are announced as well', () => {
    const { store, open } = bench();
    const heads: number[] = [];
    const feed: FeedProducer = open('outbox', () => {
      const head = store.read((reader) => feed.head(reader));
      heads.push(head);
      if (head < 3) store.write((t) => feed.put(t, content(`k${head}`, ''), 0));
    });
    store.write((t) => feed.put(t, content('k0', ''), 0));
    expect(heads).toEqual([1, 2, 3]);
  });
});
