import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMark, encodeMark } from '../../../../../core/store/lmdb/flush-mark.ts';

const mark = fc.record({
  sequence: fc.nat(),
  bootId: fc.string(),
  fileBytes: fc.nat(),
  metaPages: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
});

describe('a flush mark', () => {
  it('is read as it was written, whatever an older mark left behind it in the slot', () => {
    fc.assert(
      fc.property(mark, fc.uint8Array(), (written, remains) => {
        expect(decodeMark(Buffer.concat([encodeMark(written), remains]))).toEqual(written);
      }),
    );
  });

  it('is rejected if its write was cut short', () => {
    fc.assert(
      fc.property(mark, fc.nat(), (written, cut) => {
        const bytes = encodeMark(written);
        expect(decodeMark(bytes.subarray(0, cut % bytes.length))).toBeUndefined();
      }),
    );
  });

  it('is rejected if any of its bits is wrong', () => {
    fc.assert(
      fc.property(mark, fc.nat(), (written, bit) => {
        const bytes = Buffer.from(encodeMark(written));
        const at = bit % (bytes.length * 8);
        bytes[at >> 3]! ^= 1 << (at & 7);
        expect(decodeMark(bytes)).toBeUndefined();
      }),
    );
  });
});
