import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import {
  type Digest,
  decodeDigest,
  digestBytes,
  digestDifference,
  emptyDigest,
  moveDigest,
  sumOf,
} from '../../../../core/feed/digest.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import type { TableRows } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Reader } from '../../../../core/store/store.ts';

const content = (key: string, body: string) => ({ key, attributes: Buffer.from('{}'), body: Buffer.from(body) });

/** Computed by a scan of the rows. */
function scanned(reader: Reader, table: TableRows): Digest {
  return [...table.rows(reader)].reduce((digest, row) => moved(digest, undefined, row.content!.hash), emptyDigest);
}

/** Computed with big integers. */
function moved({ count, sum }: Digest, before: Uint8Array | undefined, after: Uint8Array | undefined): Digest {
  const next = sum - (before ? sumOf(before) : 0n) + (after ? sumOf(after) : 0n);
  return { count: count - (before ? 1 : 0) + (after ? 1 : 0), sum: BigInt.asUintN(128, next) };
}

describe('the digest of a table', () => {
  it('equals a scan of its rows, after any changes, at both ends of a feed', () => {
    const change = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      body: fc.option(fc.constantFrom('1', '2', '3')),
      origin: fc.nat(3),
      deliver: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const store = new MemoryStore();
        const random = new SeededRandom(1);
        const { producer, consumer } = store.write((t) => ({
          producer: FeedProducer.open(t, { name: 'p', bootNonce: '00'.repeat(16), random }),
          consumer: FeedConsumer.open(t, { name: 'c' }),
        }));
        for (const { key, body, origin, deliver } of changes) {
          store.write((t) => {
            if (body === null) producer.remove(t, hash128(key), origin);
            else producer.put(t, content(key, body), origin);
            if (!deliver) return;
            const { cursor } = consumer.resume(t);
            const batch = producer.batch(t, cursor, producer.head(t), { maxBytes: 200, maxEntries: 3 });
            if (!batch) return;
            consumer.apply(t, batch);
            producer.acknowledge(t, batch.to);
          });
          store.read((reader) => {
            expect(producer.digest(reader)).toEqual(scanned(reader, producer));
            expect(consumer.digest(reader)).toEqual(scanned(reader, consumer));
          });
        }
      }),
      { seed: 4 },
    );
  });

  it('is computed with 32-bit words as with big integers, also over and under its modulus', () => {
    const hash = fc.oneof(
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.constantFrom(0, 255).map((byte) => new Uint8Array(16).fill(byte)),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.option(hash), fc.option(hash)), { maxLength: 20 }), (moves) => {
        const record = Buffer.alloc(3 + digestBytes);
        let digest: Digest = { count: 50, sum: 0n };
        record.writeUIntBE(digest.count, 3, 6);
        for (const [before, after] of moves) {
          moveDigest(record, 3, before ?? undefined, after ?? undefined);
          digest = moved(digest, before ?? undefined, after ?? undefined);
          expect(decodeDigest(record.subarray(3))).toEqual(digest);
        }
      }),
      { seed: 5 },
    );
  });

  it('differs by the same value as long as the same rows differ', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((key) => hash128(key));
    const own = moved(moved(emptyDigest, undefined, a), undefined, b);
    const peer = moved(emptyDigest, undefined, a);
    expect(digestDifference(own, own)).toBe('');
    const difference = digestDifference(own, peer);
    expect(difference).not.toBe('');
    expect(digestDifference(moved(own, undefined, c), moved(peer, undefined, c))).toBe(difference);
    expect(digestDifference(moved(own, b, c), peer)).not.toBe(difference);
  });
});
