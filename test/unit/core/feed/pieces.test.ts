import { describe, expect, it } from 'vitest';
import { encodeContent } from '../../../../core/feed/content.ts';
import {
  contentWithPieces,
  dropPieces,
  heldMax,
  heldPieces,
  type Piece,
  pieceBytesMin,
  piecedBytesMax,
  storePiece,
} from '../../../../core/feed/pieces.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Reader } from '../../../../core/store/store.ts';

const table = 7;
const bytes = (length: number) => Buffer.alloc(length, 'x');
const piece = (name: string, part: Partial<Piece> = {}): Piece => ({
  contentHash: hash128(name),
  offset: 0,
  total: 10 * pieceBytesMin,
  data: bytes(pieceBytesMin),
  ...part,
});
const take = (store: MemoryStore, one: Piece) => store.write((t) => storePiece(t, table, one));
const held = (store: MemoryStore) => store.read((reader) => heldPieces(reader, table));

/** A record with the given lengths, as a peer may make it. */
function recordOf(keyLength: number, key: string | Buffer, attributesLength = 0): Buffer {
  const lengths = Buffer.alloc(6);
  lengths.writeUInt16BE(keyLength, 0);
  lengths.writeUInt32BE(attributesLength, 2);
  return Buffer.concat([lengths.subarray(0, 2), Buffer.from(key), lengths.subarray(2)]);
}

/** Counts the values that are read through the store. */
function counting<R extends Reader>(reader: R): { reader: R; read: { values: number; bytes: number } } {
  const read = { values: 0, bytes: 0 };
  function* scan(range: Parameters<Reader['scan']>[0]): Generator<[Uint8Array, Uint8Array]> {
    for (const entry of reader.scan(range)) {
      read.values++;
      read.bytes += entry[1].length;
      yield entry;
    }
  }
  return { reader: { ...reader, get: (key: Uint8Array) => reader.get(key), scan }, read };
}

describe('pieces of contents', () => {
  it('of a thousand unfinished contents are kept only for the last few', () => {
    const store = new MemoryStore();
    store.write((t) => {
      for (let i = 0; i < 1_000; i++) storePiece(t, table, piece(`content ${i}`));
    });
    expect(held(store)).toHaveLength(heldMax);
    expect(held(store).reduce((sum, { bytes: kept }) => sum + kept, 0)).toBe(heldMax * pieceBytesMin);
    store.write((t) => dropPieces(t, table));
    expect(held(store)).toEqual([]);
  });

  it.each<[string, Partial<Piece>, string]>([
    ['is empty', { data: bytes(0) }, 'an invalid piece'],
    ['is small and not the last', { data: bytes(pieceBytesMin - 1) }, 'which is not the last; at least 4096'],
    ['goes beyond its content', { offset: 9 * pieceBytesMin + 1 }, 'an invalid piece'],
    ['is of a content that is too large', { total: piecedBytesMax + 1 }, 'an invalid piece'],
    ['has a hash of another length', { contentHash: bytes(15) }, 'an invalid piece'],
    ['leaves a gap', { offset: pieceBytesMin }, 'a piece from 4096, expected 0'],
  ])('are refused when one %s, and the stored pieces stay', (_what, wrong, message) => {
    const store = new MemoryStore();
    take(store, piece('other'));
    expect(() => take(store, piece('content', wrong))).toThrow(message);
    expect(held(store)).toEqual([{ contentHash: Buffer.from(hash128('other')), bytes: pieceBytesMin }]);
  });

  it('may end with a small piece; a content that does not have its hash is dropped', () => {
    const store = new MemoryStore();
    const record = bytes(pieceBytesMin + 1);
    const of = { contentHash: hash128(record), total: record.length };
    expect(take(store, piece('', { ...of, data: record.subarray(0, pieceBytesMin) }))).toBe(true);
    expect(take(store, piece('', { ...of, offset: pieceBytesMin, data: Buffer.from('y') }))).toBe(false);
    expect(held(store)).toEqual([]);
  });

  it.each<[string, Buffer, string]>([
    ['is empty', bytes(0), 'a content of 0 bytes that is shorter than its two lengths'],
    ['is shorter than its lengths', bytes(5), 'a content of 5 bytes that is shorter than its two lengths'],
    ['ends within its key', recordOf(9, 'key'), 'a content of 9 bytes that ends within its key of 9 bytes'],
    ['ends within its attributes', recordOf(3, 'key', 1), 'a content of 9 bytes that ends within its 1 of attributes'],
    ['has too long a key', recordOf(1_501, 'k'.repeat(1_501)), 'with a key of 1501 bytes; at most 1500'],
    ['has a key that is no text', recordOf(2, Buffer.of(0xc3, 0x28)), 'with a key that is no UTF-8'],
  ])('are no content if the pieces that an entry names %s, and the stored rows stay', (_what, record, message) => {
    const store = new MemoryStore();
    const contentHash = hash128(record);
    if (record.length > 0) take(store, { contentHash, offset: 0, total: record.length, data: record });
    const before = held(store);
    const named = { keyHash: hash128('key'), revision: 1, originRevision: 1, pieces: contentHash };
    expect(() => store.write((t) => contentWithPieces(t, table, [named]))).toThrow(message);
    expect(held(store)).toEqual(before);
  });

  it('make up a content with the longest key that an entry may have', () => {
    const store = new MemoryStore();
    const key = 'é'.repeat(750);
    const record = encodeContent({ key, attributes: bytes(2), body: bytes(3) });
    const contentHash = hash128(record);
    take(store, { contentHash, offset: 0, total: record.length, data: Buffer.from(record) });
    const named = { keyHash: hash128(key), revision: 1, originRevision: 1, pieces: contentHash };
    const [entry] = store.write((t) => contentWithPieces(t, table, [named]));
    expect(entry?.content?.key).toBe(key);
    expect(held(store)).toEqual([]);
  });

  it('that arrive again are ignored', () => {
    const store = new MemoryStore();
    for (let i = 0; i < 3; i++) expect(take(store, piece('content'))).toBe(true);
    expect(held(store)).toMatchObject([{ bytes: pieceBytesMin }]);
  });

  it.each([
    ['as large as a message', 64 * 1024],
    ['as large as a frame', piecedBytesMax - 1],
  ])('are counted by the last row of each content, where pieces are %s', (_what, bytesOfPiece) => {
    const store = new MemoryStore();
    const data = bytes(bytesOfPiece);
    const large = Array.from({ length: heldMax - 1 }, (_, i) => Buffer.alloc(16, 0x80 + i));
    for (const contentHash of large) {
      const have = Math.min(piecedBytesMax - 1, 4 * bytesOfPiece);
      for (let offset = 0; offset < have; offset += bytesOfPiece) {
        take(store, { contentHash, offset, total: piecedBytesMax, data });
      }
    }
    const rowBytesMax = 64 * 1024;
    for (let i = 1; i < 4; i++) {
      const begun = piece('', { contentHash: Buffer.alloc(16, i) });
      const { values, bytes: read } = store.write((t) => {
        const counted = counting(t);
        storePiece(counted.reader, table, begun);
        return counted.read;
      });
      // One more, the dropped content.
      expect(values).toBeLessThanOrEqual(heldMax + 1);
      expect(read).toBeLessThanOrEqual(heldMax * rowBytesMax);
    }
    const { values } = store.read((reader) => {
      const counted = counting(reader);
      expect(heldPieces(counted.reader, table)).toEqual([
        { contentHash: Buffer.alloc(16, 3), bytes: pieceBytesMin },
        ...large.map((contentHash) => ({ contentHash, bytes: Math.min(piecedBytesMax - 1, 4 * bytesOfPiece) })),
      ]);
      return counted.read;
    });
    expect(values).toBe(heldMax);
  });

  it('are dropped by the last row of each content', () => {
    const store = new MemoryStore();
    const data = bytes(pieceBytesMin);
    for (let i = 0; i < heldMax; i++) {
      const contentHash = Buffer.alloc(16, i);
      for (let offset = 0; offset < 20 * data.length; offset += data.length)
        take(store, { contentHash, offset, total: piecedBytesMax, data });
    }
    const { values } = store.write((t) => {
      const counted = counting(t);
      dropPieces(counted.reader, table);
      return counted.read;
    });
    expect(values).toBe(heldMax);
    expect(store.size().usedBytes).toBe(0);
  });

  it('that are larger than a row are put together, and go with their content', () => {
    const store = new MemoryStore();
    const record = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251));
    const of = { contentHash: hash128(record), total: record.length };
    expect(take(store, piece('', { ...of, data: record.subarray(0, 150_000) }))).toBe(true);
    expect(held(store)).toMatchObject([{ bytes: 150_000 }]);
    expect(take(store, piece('', { ...of, offset: 100_000, data: record.subarray(100_000) }))).toBe(true);
    expect(held(store)).toMatchObject([{ bytes: 200_000 }]);
    store.write((t) => dropPieces(t, table));
    expect(store.size().usedBytes).toBe(0);
  });
});
