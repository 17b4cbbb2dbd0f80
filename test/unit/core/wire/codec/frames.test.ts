import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { decodeFrame, encodeFrame, maxFrameBytes } from '../../../../../core/wire/codec/frames.ts';
import type { Frame } from '../../../../../core/wire/generated/mesh.ts';
import { beat, data, dataOfFrameBytes } from '../../../../support/link-log.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const frames: fc.Arbitrary<Frame> = fc.oneof(
  fc.nat().map(beat),
  bytes(300).map(data),
  fc.string({ unit: 'grapheme' }).map(
    (reason): Frame => ({
      frame: { $case: 'goodbye', value: { reason, returnAfterMs: 0 } },
    }),
  ),
);

describe('encodeFrame', () => {
  it('gives bytes from which the frame is decoded again, whatever was encoded before', () => {
    fc.assert(
      fc.property(fc.array(frames), (sent) => {
        const encoded = sent.map(encodeFrame);
        expect(encoded.map(decodeFrame)).toEqual(sent);
      }),
    );
  });

  it('returns separate bytes: those of an earlier frame do not change', () => {
    const first = encodeFrame(data(Buffer.alloc(1000, 1)));
    const before = Buffer.from(first);
    encodeFrame(data(Buffer.alloc(1000, 2)));
    expect(first).toEqual(before);
  });

  it('is not affected by a frame that could not be encoded', () => {
    expect(() => encodeFrame(beat(Number.NaN))).toThrow();
    expect(decodeFrame(encodeFrame(beat(7)))).toEqual(beat(7));
  });

  it('accepts a frame at the limit and refuses one a byte larger, with both sizes', () => {
    expect(maxFrameBytes).toBe(4_194_304);
    expect(encodeFrame(dataOfFrameBytes(maxFrameBytes)).length).toBe(maxFrameBytes);
    expect(() => encodeFrame(dataOfFrameBytes(maxFrameBytes + 1))).toThrow(
      new BanyanError('TooLarge', 'a frame of 4194305 bytes; the limit is 4194304'),
    );
    expect(decodeFrame(encodeFrame(beat(1)))).toEqual(beat(1));
  });
});

describe('decodeFrame', () => {
  it('refuses a frame over the limit before it decodes it, with both sizes', () => {
    expect(() => decodeFrame(Buffer.alloc(maxFrameBytes + 1))).toThrow(
      new BanyanError('TooLarge', 'a frame of 4194305 bytes; the limit is 4194304'),
    );
  });

  it('answers any bytes with a frame or with Protocol and their length', () => {
    let refused = 0;
    fc.assert(
      fc.property(bytes(100), (garbage) => {
        try {
          decodeFrame(garbage);
        } catch (error) {
          refused++;
          expect(error).toMatchObject({ code: 'Protocol' });
          expect((error as Error).message).toMatch(`${garbage.length} bytes that are no frame: `);
        }
      }),
    );
    expect(refused).toBeGreaterThan(0);
  });

  it('refuses a truncated frame', () => {
    const whole = encodeFrame(data(Buffer.alloc(100)));
    for (const length of [1, 2, 50, whole.length - 1]) {
      expect(() => decodeFrame(whole.subarray(0, length))).toThrow(`${length} bytes that are no frame: `);
    }
  });

  it('returns an empty frame for a frame of a later version', () => {
    // Field 2047, length-delimited, one byte.
    expect(decodeFrame(Buffer.from([0xfa, 0x7f, 0x01, 0x00]))).toEqual({ frame: undefined });
  });
});
