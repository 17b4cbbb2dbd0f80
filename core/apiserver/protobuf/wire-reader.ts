/** The fields of one protobuf message, bounded: https://protobuf.dev/programming-guides/encoding/ */
import { BanyanError } from '../../runtime/errors.ts';

export interface WireField {
  readonly number: number;
  /** Of varints and fixed numbers. */
  readonly value: bigint;
  /** Of length-delimited fields. */
  readonly bytes: Buffer;
}

/** A field may take two bytes, and a microsecond to read. */
export class FieldBudget {
  #left: number;
  readonly #spent: () => Error;

  constructor(fields: number, spent: () => Error) {
    this.#left = fields;
    this.#spent = spent;
  }

  take(): void {
    if (this.#left-- <= 0) throw this.#spent();
  }
}

const empty = Buffer.alloc(0);

/** `budget`: one for all messages of a body. Throws BadRequest for what is no message, and what the budget throws. */
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
          `the protobuf body has a field of wire type ${tag & 7}, which there is not`,
        );
    }
  }
}

function truncated(): BanyanError {
  return new BanyanError('BadRequest', 'the protobuf body ends in the middle of a field');
}
