import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { contentHash, encodeContent } from '../../../../core/feed/content.ts';
import { dropPieces, heldMax, heldPieces, pieceBytesMin, storePiece } from '../../../../core/feed/pieces.ts';
import { heldWithPieces, noPieces, type PiecesHeld, withoutPieces } from '../../../../core/session/pieces-held.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

describe('the producer’s record of the pieces that its consumer has', () => {
  it('is empty once one content too many was begun, until all are dropped', () => {
    let held: PiecesHeld = noPieces;
    for (let i = 0; i < heldMax; i++) held = heldWithPieces(held, `h${i}`, 10);
    expect(heldWithPieces(held, 'h0', 20)?.get('h0')).toBe(20);
    held = heldWithPieces(held, 'one more', 10);
    expect(held).toBeUndefined();
    expect(heldWithPieces(held, 'h0', 30)).toBeUndefined();
    expect(withoutPieces(held, 'h0')).toBeUndefined();
  });

  it('never exceeds the consumer’s pieces, whatever is begun, left and resumed', () => {
    const contents = Array.from({ length: heldMax + 3 }, (_, i) => ({
      key: `k${i}`,
      attributes: new Uint8Array(0),
      body: Buffer.alloc(2 * pieceBytesMin, i),
    }));
    const step = fc.record({ content: fc.nat(contents.length - 1), drops: fc.nat(60) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const store = new MemoryStore();
        const { id } = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
        let held: PiecesHeld = noPieces;
        for (const { content, drops } of steps) {
          if (drops === 0) {
            store.write((t) => dropPieces(t, id));
            held = noPieces;
          }
          const hash = Buffer.from(contentHash(contents[content]!)).toString('hex');
          const record = encodeContent(contents[content]!);
          const offset = held?.get(hash) ?? 0;
          if (offset >= record.length) continue;
          const data = record.subarray(offset, offset + pieceBytesMin);
          const piece = { contentHash: Buffer.from(hash, 'hex'), offset, total: record.length, data };
          expect(store.write((t) => storePiece(t, id, piece))).toBe(true);
          held = heldWithPieces(held, hash, offset + data.length);
          const there = new Map(
            store
              .read((reader) => heldPieces(reader, id))
              .map((one) => [Buffer.from(one.contentHash).toString('hex'), one.bytes]),
          );
          for (const [one, bytes] of held ?? []) expect(there.get(one) ?? 0).toBeGreaterThanOrEqual(bytes);
        }
      }),
      { numRuns: 60 },
    );
  });
});
