import { describe, expect, it } from 'vitest';
import {
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

describe('pieces of contents', () => {
  it('that are never finished, of a thousand of them, are kept of the last few', () => {
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
    ['is empty', { data: bytes(0) }, "can't be"],
    ['is small and not the last', { data: bytes(pieceBytesMin - 1) }, 'which is not the last; at least 4096'],
    ['goes beyond its content', { offset: 9 * pieceBytesMin + 1 }, "can't be"],
    ['is of a content that is too large', { total: piecedBytesMax + 1 }, "can't be"],
    ['has a hash of another length', { contentHash: bytes(15) }, "can't be"],
    ['leaves a gap', { offset: pieceBytesMin }, 'a piece from 4096, expected 0'],
  ])('are refused when one %s, and what was there stays', (_what, wrong, words) => {
    const store = new MemoryStore();
    take(store, piece('other'));
    expect(() => take(store, piece('content', wrong))).toThrow(words);
    expect(held(store)).toEqual([{ contentHash: Buffer.from(hash128('other')), bytes: pieceBytesMin }]);
  });

  it('may end with a small one; a whole that is not what its hash says is dropped', () => {
    const store = new MemoryStore();
    const record = bytes(pieceBytesMin + 1);
    const of = { contentHash: hash128(record), total: record.length };
    expect(take(store, piece('', { ...of, data: record.subarray(0, pieceBytesMin) }))).toBe(true);
    expect(take(store, piece('', { ...of, offset: pieceBytesMin, data: Buffer.from('y') }))).toBe(false);
    expect(held(store)).toEqual([]);
  });

  it('that come again are passed over', () => {
    const store = new MemoryStore();
    for (let i = 0; i < 3; i++) expect(take(store, piece('content'))).toBe(true);
    expect(held(store)).toMatchObject([{ bytes: pieceBytesMin }]);
  });
});
