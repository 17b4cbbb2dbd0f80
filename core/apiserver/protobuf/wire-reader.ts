/** Reads the fields of a protobuf message, up to a maximal number: https://protobuf.dev/programming-guides/encoding/ */
import { BanyanError } from '../../runtime/errors.ts';

export interface WireField {
  readonly number: number;
  /** The value of a varint or fixed number. */
  readonly value: bigint;
  /** The bytes of a length-delimited field. */
  readonly bytes: Buffer;
}

/** Bounds the number of fields in a body. A field may have only two bytes, but reading it takes a microsecond. */
export class FieldBudget {
  #remaining: number;
  readonly #spent: () => Error;

  constructor(fields: number, spent: () => Error) {
    this.#remaining = fields;
    this.#spent = spent;
  }

  take(): void {
    if (this.#remaining-- <= 0) throw this.#spent();
  }
}

const empty = Buffer.alloc(0);

/**
 * Reads the fields of one message. All messages of a body share one `budget`. Throws BadRequest if the bytes are not a message, and the error of the budget
 * if there are too many fields.
 */
export function* wireFields(message: Buffer, budget: FieldBudget): Generator<WireField> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) throw truncated();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new BanyanError('BadRequest', 'the protobuf body has a number of more than 64 bits');
  };
  const take = (length: number): Buffer => {
    if (at + length > message.length) throw truncated();
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    budget.take();
    const tag = Number(varint());
    const number = tag >>> 3;
    switch (tag & 7) {
      case 0:
        yield { number, value: varint(), bytes: empty };
        break;
      case 1:
        yield { number, value: take(8).readBigUInt64LE(), bytes: empty };
        break;
      case 2:
        yield { number, value: 0n, bytes: take(Number(varint())) };
        break;
      case 5:
        yield { number, value: BigInt(take(4).readUInt32LE()), bytes: empty };
        break;
      default:
        throw new BanyanError(
          'BadRequest',
          `the protobuf body has a field of wire type ${tag & 7}, which does not exist`,
        );
    }
  }
}

function truncated(): BanyanError {
  return new BanyanError('BadRequest', 'the protobuf body ends in the middle of a field');
}
