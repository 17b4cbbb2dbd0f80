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
  it('gives the same bytes as the generated code, for every acknowledgement', () => {
    fc.assert(
      fc.property(ack, (value) => {
        expect(ackFrameBytes(value)?.toString('hex')).toBe(generated(value).toString('hex'));
      }),
    );
  });

  it.each([-1, 0.5, Number.NaN, 2 ** 53])(
    'leaves an acknowledgement with the cursor %d to the generated code',
    (cursor) => {
      expect(ackFrameBytes({ feed: Feed.FEED_DOWN, cursor, epoch: Buffer.alloc(16) })).toBeUndefined();
    },
  );

  it('leaves an acknowledgement whose length takes more than a byte to the generated code', () => {
    const longest = { feed: Feed.FEED_DOWN, cursor: 1, epoch: Buffer.alloc(121) };
    expect(ackFrameBytes(longest)?.equals(generated(longest))).toBe(true);
    expect(ackFrameBytes({ ...longest, epoch: Buffer.alloc(122) })).toBeUndefined();
  });
});

describe('ackOfFrame', () => {
  it('gives the same values as the generated code, for all numbers that it reads', () => {
    fc.assert(
      fc.property(ack, (value) => {
        const bytes = generated(value);
        if (value.cursor >= 2 ** 49) expect(ackOfFrame(bytes)).toBeUndefined();
        else expect(ackOfFrame(bytes)).toEqual(value);
      }),
    );
  });

  it('leaves a feed that does not fit into 31 bits to the generated code', () => {
    const bytes = Buffer.from('2a0608ffffffff0f', 'hex');
    expect(Frame.decode(bytes).frame).toMatchObject({ value: { feed: -1 } });
    expect(ackOfFrame(bytes)).toBeUndefined();
  });

  it('gives the same or nothing, for damaged frames', () => {
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
