import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Batch, Content } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { RecentRows, recentRowsMax } from '../../../../core/feed/recent-rows.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { hex, text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Reader, Transaction } from '../../../../core/store/store.ts';

const name = 'mailbox/a';
const bootNonce = '00'.repeat(16);
const limits = { maxBytes: 64 * 1024, maxEntries: 512 };
const contentOf = (key: number, version: number): Content => ({
  key: `o/center.retail/${key}`,
  attributes: text('{}'),
  body: text(String(version)),
});
const open = (store: MemoryStore) =>
  store.write((t) => FeedProducer.open(t, { name, bootNonce, random: new SeededRandom(1) }));
const counting = (reader: Reader) => {
  const counted = { gets: 0 };
  const get = (key: Uint8Array) => {
    counted.gets++;
    return reader.get(key);
  };
  return { counted, reader: { get, scan: (range) => reader.scan(range), countKeys: () => 0 } satisfies Reader };
};

type Step =
  | { readonly act: 'put' | 'remove'; readonly key: number; readonly version: number; readonly undone: boolean }
  | { readonly act: 'batch'; readonly back: number; readonly undurable: number }
  | { readonly act: 'acknowledge' | 'crash' | 'flush' };
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record<Step & { act: 'put' | 'remove' }>({
        act: fc.constantFrom('put', 'put', 'put', 'remove'),
        key: fc.nat(5),
        version: fc.nat(3),
        undone: fc.nat(4).map((n) => n === 0),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record<Step & { act: 'batch' }>({
        act: fc.constant('batch'),
        back: fc.nat(recentRowsMax + 4),
        undurable: fc.nat(2),
      }),
    },
    { weight: 1, arbitrary: fc.record({ act: fc.constantFrom('acknowledge', 'crash', 'flush') }) },
  ),
  { maxLength: 60 },
);

describe('a producer that keeps the rows that it put last', () => {
  it('makes the same batches as a producer that reads all rows, whatever was undone or lost in between', () => {
    fc.assert(
      fc.property(steps, (run) => {
        const store = new MemoryStore({ manualFlush: true });
        const producer = open(store);
        store.completeFlush();
        for (const step of run) play(store, producer, step);
      }),
    );
  });

  it('reads no row that it has put since the last batch', () => {
    const store = new MemoryStore();
    const producer = open(store);
    store.write((t) => {
      for (let key = 0; key < recentRowsMax; key++) producer.put(t, contentOf(key, 0), 0);
    });
    store.read((whole) => {
      const { counted, reader } = counting(whole);
      expect(producer.batch(reader, 0, recentRowsMax, limits)?.entries).toHaveLength(recentRowsMax);
      // The head, and each content.
      expect(counted.gets).toBe(1 + recentRowsMax);
    });
  });

  it('drops the kept rows once they are sent', () => {
    const rows = new RecentRows();
    const [before, head] = [Buffer.of(0), Buffer.of(1)];
    rows.put(before, head, undefined, { keyHash: hash128('a'), revision: 1, originRevision: 0 });
    expect(rows.rowsAfter(head, 0)).toHaveLength(1);
    rows.forget();
    expect(rows.rowsAfter(head, 0)).toBeUndefined();
  });
});

function play(store: MemoryStore, producer: FeedProducer, step: Step): void {
  switch (step.act) {
    case 'put':
    case 'remove':
      return change(store, step.undone, (t) => {
        if (step.act === 'put') producer.put(t, contentOf(step.key, step.version), 0);
        else producer.remove(t, hash128(contentOf(step.key, 0).key), 0);
      });
    case 'flush':
      return store.completeFlush();
    case 'crash':
      return store.crash();
    case 'acknowledge':
      return store.write((t) => producer.acknowledge(t, producer.head(t)));
    case 'batch': {
      const head = store.read((reader) => producer.head(reader));
      const [after, durable] = [Math.max(0, head - step.back), Math.max(0, head - step.undurable)];
      const own = store.read((reader) => producer.batch(reader, after, durable, limits));
      // This producer has not put rows itself.
      const other = open(store.copy());
      const read = store.read((reader) => other.batch(reader, after, durable, limits));
      expect(shown(own)).toEqual(shown(read));
    }
  }
}

/** The bytes are the same, whichever producer made them. */
function shown(batch: Batch | undefined): unknown {
  const entries = batch?.entries.map((entry) => ({ ...entry, keyHash: hex(entry.keyHash) }));
  return batch && { ...batch, entries };
}

function change(store: MemoryStore, undone: boolean, act: (t: Transaction) => void): void {
  const over = new Error('undone');
  try {
    store.write((t) => {
      act(t);
      if (undone) throw over;
    });
  } catch (error) {
    if (error !== over) throw error;
  }
}
