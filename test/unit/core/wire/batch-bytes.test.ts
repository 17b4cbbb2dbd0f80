import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchFrameBytes } from '../../../../core/wire/batch-bytes.ts';
import { type Batch, type Entry, Feed, Frame } from '../../../../core/wire/generated/mesh.ts';

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
  it('gives the bytes that the generated code gives, for every batch', () => {
    fc.assert(
      fc.property(batch, (value) => {
        expect(batchFrameBytes(value)?.toString('hex')).toBe(generated(value).toString('hex'));
      }),
    );
  });

  it('gives them where a length begins to take another byte', () => {
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

  it('gives a buffer of its own each time', () => {
    const [value] = fc.sample(batch, 1);
    const first = batchFrameBytes(value!)!;
    const before = Buffer.from(first);
    batchFrameBytes({ ...value!, from: value!.from + 1 });
    expect(first).toEqual(before);
  });
});
