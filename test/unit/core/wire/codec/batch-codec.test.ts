import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { batchFrameBytes, batchOfFrame } from '../../../../../core/wire/codec/batch-codec.ts';
import { type Batch, type Entry, Feed, Frame } from '../../../../../core/wire/generated/mesh.ts';
import { mutatedFrame } from '../../../../fuzz/mutate.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const revision = fc.oneof(fc.nat(300), fc.maxSafeNat());
const entry: fc.Arbitrary<Entry> = fc.record<Entry>({
  keyHash: bytes(20),
  revision,
  originRevision: revision,
  tombstone: fc.boolean(),
  key: fc.string({ unit: 'grapheme', maxLength: 200 }),
  attributes: bytes(200),
  body: bytes(400),
  pieces: bytes(20),
});
const batch: fc.Arbitrary<Batch> = fc.record<Batch>({
  feed: fc.constantFrom(Feed.FEED_UNSPECIFIED, Feed.FEED_DOWN, Feed.FEED_UP),
  entries: fc.array(entry, { maxLength: 5 }),
  from: revision,
  to: revision,
  head: revision,
  epoch: bytes(20),
  incarnation: bytes(20),
  ahead: fc.boolean(),
});
const generated = (value: Batch) => Buffer.from(Frame.encode({ frame: { $case: 'batch', value } }).finish());

describe('batchFrameBytes', () => {
  it('gives the same bytes as the generated code, for every batch', () => {
    fc.assert(
      fc.property(batch, (value) => {
        expect(batchFrameBytes(value)?.toString('hex')).toBe(generated(value).toString('hex'));
      }),
    );
  });

  it('gives the same bytes where a length begins to take another byte', () => {
    const [value] = fc.sample(batch, 1);
    for (const length of [127, 128, 16_383, 16_384, 2_097_151, 2_097_152]) {
      const body = Buffer.alloc(length, 7);
      const whole = { ...value!, entries: [{ ...fc.sample(entry, 1)[0]!, body }] };
      expect(batchFrameBytes(whole)?.equals(generated(whole))).toBe(true);
    }
  });

  it.each([-1, 0.5, Number.NaN, 2 ** 53])('leaves a batch with the number %d to the generated code', (wrong) => {
    const [value] = fc.sample(batch, 1);
    const [first] = fc.sample(entry, 1);
    expect(batchFrameBytes({ ...value!, head: wrong })).toBeUndefined();
    expect(batchFrameBytes({ ...value!, entries: [{ ...first!, revision: wrong }] })).toBeUndefined();
  });

  it('returns a new buffer each time', () => {
    const [value] = fc.sample(batch, 1);
    const first = batchFrameBytes(value!)!;
    const before = Buffer.from(first);
    batchFrameBytes({ ...value!, from: value!.from + 1 });
    expect(first).toEqual(before);
  });
});

describe('batchOfFrame', () => {
  const revisionOfRow = fc.oneof(fc.nat(300), fc.nat(2 ** 31 - 1), fc.constantFrom(2 ** 32, 2 ** 48 - 1));
  const ordinaryEntry = entry.chain((value) =>
    fc
      .tuple(fc.string({ unit: 'grapheme-ascii', maxLength: 200 }), revisionOfRow, revisionOfRow)
      .map(([key, revision, originRevision]) => ({ ...value, key, revision, originRevision })),
  );
  const ordinary = fc
    .tuple(batch, fc.array(ordinaryEntry, { maxLength: 5 }), revisionOfRow, revisionOfRow, revisionOfRow)
    .map(([value, entries, from, to, head]) => ({ ...value, entries, from, to, head }));

  it('gives the same values as the generated code, for every usual batch', () => {
    fc.assert(
      fc.property(ordinary, (value) => {
        expect(batchOfFrame(generated(value))).toEqual(value);
      }),
    );
  });

  it.each(['ö', '\ufeffkey', '日本'])('leaves a batch with the key %j to the generated code', (key) => {
    const [value] = fc.sample(ordinary, 1);
    const [first] = fc.sample(ordinaryEntry, 1);
    expect(batchOfFrame(generated({ ...value!, entries: [{ ...first!, key }] }))).toBeUndefined();
  });

  it('leaves a feed that does not fit into 31 bits to the generated code', () => {
    const bytes = Buffer.from('220608ffffffff0f', 'hex');
    expect(Frame.decode(bytes).frame).toMatchObject({ value: { feed: -1 } });
    expect(batchOfFrame(bytes)).toBeUndefined();
  });

  it('gives the same or nothing, for any batch and for damaged frames', () => {
    const frames = fc.oneof(batch, ordinary).map(generated);
    fc.assert(
      fc.property(frames, fc.nat(), (frame, seed) => {
        for (const bytes of [frame, mutatedFrame(new SeededRandom(seed), frame)]) {
          const read = batchOfFrame(bytes);
          if (read) expect({ frame: { $case: 'batch', value: read } }).toEqual(Frame.decode(bytes));
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it('returns views of the received bytes, and no copies', () => {
    const [first] = fc.sample(ordinaryEntry, 1);
    const bytes = generated({ ...fc.sample(ordinary, 1)[0]!, entries: [{ ...first!, body: Buffer.alloc(2_048, 7) }] });
    expect(batchOfFrame(bytes)!.entries[0]!.body.buffer).toBe(bytes.buffer);
  });
});
