import { describe, expect, it } from 'vitest';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { SharedContents, sharedBytesMax } from '../../../../core/feed/shared-contents.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { content } from './feed-support.ts';

function mailboxes(count: number) {
  const store = new MemoryStore();
  const contents = new SharedContents();
  const producers = store.write((t) =>
    Array.from({ length: count }, (_, i) =>
      FeedProducer.open(t, { name: `mailbox/${i}`, bootNonce: 'boot', random: new SeededRandom(i), contents }),
    ),
  );
  const [first] = producers;
  const put = (key: string, body: string) =>
    store.write((t) => {
      first!.put(t, content(key, body), 0);
      const { content: reference } = first!.get(t, hash128(key))!;
      for (const producer of producers.slice(1)) producer.putReference(t, hash128(key), reference!, 0);
    });
  const bodies = () =>
    producers.map((producer) =>
      store.read((reader) => {
        const head = producer.head(reader);
        const batch = producer.batch(reader, 0, head, { maxBytes: 1e9, maxEntries: 1_000 })!;
        return batch.entries.map((entry) => asText(entry.content!.body));
      }),
    );
  return { contents, put, bodies };
}

describe('contents that mailboxes share', () => {
  it('are read once for all mailboxes, and are up to date after a change', () => {
    const { contents, put, bodies } = mailboxes(100);
    put('a', '1');
    expect(bodies()).toEqual(Array.from({ length: 100 }, () => ['1']));
    expect(contents.reads).toBe(1);
    put('a', '2');
    expect(bodies()).toEqual(Array.from({ length: 100 }, () => ['2']));
    expect(contents.reads).toBe(2);
  });

  it('use no more memory than their bound', () => {
    const { contents, put, bodies } = mailboxes(2);
    const large = 'x'.repeat(sharedBytesMax * 0.6);
    put('a', `${large}1`);
    put('b', `${large}2`);
    expect(bodies()[1]).toEqual([`${large}1`, `${large}2`]);
    // They do not fit together: each of the two mailboxes has read both.
    expect(contents.reads).toBe(4);
  });
});
