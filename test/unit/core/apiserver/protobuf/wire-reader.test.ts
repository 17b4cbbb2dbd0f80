import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FieldBudget, wireFields } from '../../../../../core/apiserver/protobuf/wire-reader.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { bytes, fixed, int, varint } from './wire-writer.ts';

const read = (message: Uint8Array) => [
  ...wireFields(Buffer.from(message), new FieldBudget(1_000, () => new Error('spent'))),
];

function refusal(message: Uint8Array): BanyanError {
  try {
    read(message);
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

describe('the fields of a message', () => {
  it('are read as they were written, in order', () => {
    const number = fc.integer({ min: 1, max: 2 ** 28 - 1 });
    const field = fc.oneof(
      fc.record({ number, value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }),
      fc.record({ number, bytes: fc.uint8Array({ maxLength: 300 }) }),
    );
    fc.assert(
      fc.property(fc.array(field, { maxLength: 8 }), (fields) => {
        const message = Buffer.concat(
          fields.map((one) => ('value' in one ? int(one.number, one.value) : bytes(one.number, one.bytes))),
        );
        expect(read(message)).toEqual(
          fields.map((one) => ({
            number: one.number,
            value: 'value' in one ? one.value : 0n,
            bytes: Buffer.from('bytes' in one ? one.bytes : []),
          })),
        );
      }),
    );
  });

  it('are none in an empty message', () => {
    expect(read(Buffer.alloc(0))).toEqual([]);
  });

  it('may have four or eight bytes, the least significant first', () => {
    const message = Buffer.concat([fixed(1, Buffer.of(1, 2, 0, 0)), fixed(2, Buffer.of(0, 0, 0, 0, 0, 0, 0, 1))]);
    expect(read(message).map(({ number, value }) => [number, value])).toEqual([
      [1, 0x0201n],
      [2, 2n ** 56n],
    ]);
  });
});

describe('a broken message', () => {
  it.each([
    ['in a tag', Buffer.of(0x80)],
    ['in a number', Buffer.of(0x08, 0xff)],
    ['in four bytes', fixed(1, Buffer.of(1, 2, 3, 4)).subarray(0, 3)],
    ['in eight bytes', fixed(1, Buffer.alloc(8)).subarray(0, 8)],
    ['in a length', Buffer.of(0x0a, 0x80)],
    ['in a text', bytes(1, 'text').subarray(0, 5)],
    ['in a text of a length that no memory has', Buffer.concat([Buffer.of(0x0a), varint(2n ** 64n - 1n)])],
  ])('that ends %s is refused', (_, message) => {
    const { code, message: text } = refusal(message);
    expect({ code, text }).toEqual({ code: 'BadRequest', text: 'the protobuf body ends in the middle of a field' });
  });

  it('with a number of more than ten bytes is refused', () => {
    const { code, message } = refusal(Buffer.concat([Buffer.of(0x08), Buffer.alloc(11, 0xff)]));
    expect({ code, message }).toEqual({
      code: 'BadRequest',
      message: 'the protobuf body has a number of more than 64 bits',
    });
  });

  it.each([3, 4, 6, 7])('with wire type %d, which no Kubernetes type has, is refused', (wireType) => {
    const { code, message } = refusal(Buffer.of((1 << 3) | wireType));
    expect(code).toBe('BadRequest');
    expect(message).toBe(`the protobuf body has a field of wire type ${wireType}, which does not exist`);
  });
});
