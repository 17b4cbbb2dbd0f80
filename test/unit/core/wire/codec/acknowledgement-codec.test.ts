import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { ackFrameBytes, ackOfFrame } from '../../../../../core/wire/codec/acknowledgement-codec.ts';
import { type Ack, Feed, Frame } from '../../../../../core/wire/generated/mesh.ts';
import { mutatedFrame } from '../../../../fuzz/mutate.ts';

const ack: fc.Arbitrary<Ack> = fc.record<Ack>({
  feed: fc.constantFrom(Feed.FEED_UNSPECIFIED, Feed.FEED_DOWN, Feed.FEED_UP),
  cursor: fc.oneof(fc.nat(300), fc.maxSafeNat()),
  epoch: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
});
const generated = (value: Ack) => Buffer.from(Frame.encode({ frame: { $case: 'ack', value } }).finish());

describe('ackFrameBytes', () => {
  it('gives the bytes that the generated code gives, for every acknowledgement', () => {
    fc.assert(
      fc.property(ack, (value) => {
        expect(ackFrameBytes(value)?.toString('hex')).toBe(generated(value).toString('hex'));
      }),
    );
  });

  it.each([-1, 0.5, Number.NaN, 2 ** 53])('leaves one with the cursor %d to the generated code', (cursor) => {
    expect(ackFrameBytes({ feed: Feed.FEED_DOWN, cursor, epoch: Buffer.alloc(16) })).toBeUndefined();
  });

  it('leaves one to it whose length takes more than a byte', () => {
    const longest = { feed: Feed.FEED_DOWN, cursor: 1, epoch: Buffer.alloc(121) };
    expect(ackFrameBytes(longest)?.equals(generated(longest))).toBe(true);
    expect(ackFrameBytes({ ...longest, epoch: Buffer.alloc(122) })).toBeUndefined();
  });
});

describe('ackOfFrame', () => {
  it('gives what the generated code gives, for every acknowledgement of numbers that it reads', () => {
    fc.assert(
      fc.property(ack, (value) => {
        const bytes = generated(value);
        if (value.cursor >= 2 ** 49) expect(ackOfFrame(bytes)).toBeUndefined();
        else expect(ackOfFrame(bytes)).toEqual(value);
      }),
    );
  });

  it('leaves a feed to it that has no place in 31 bits', () => {
    const bytes = Buffer.from('2a0608ffffffff0f', 'hex');
    expect(Frame.decode(bytes).frame).toMatchObject({ value: { feed: -1 } });
    expect(ackOfFrame(bytes)).toBeUndefined();
  });

  it('gives that or nothing, for frames that were damaged', () => {
    fc.assert(
      fc.property(ack.map(generated), fc.nat(), (frame, seed) => {
        const bytes = mutatedFrame(new SeededRandom(seed), frame);
        const read = ackOfFrame(bytes);
        if (read) expect({ frame: { $case: 'ack', value: read } }).toEqual(Frame.decode(bytes));
      }),
      { numRuns: 3_000 },
    );
  });
});
