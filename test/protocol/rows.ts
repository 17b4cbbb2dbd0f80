/** Rows of one end of a feed by key hash, and the values that two ends compare. */
import { createHash } from 'node:crypto';

export interface Row {
  readonly key: string;
  readonly attributes: Buffer;
  readonly body: Buffer;
  readonly originRevision: number;
}

const modulus = 1n << 128n;

export function hash(bytes: Buffer | string): Buffer {
  return createHash('sha256').update(bytes).digest().subarray(0, 16);
}

/** `u16` length of the key, key, `u32` length of the attributes, attributes, body. */
export function contentHash({ key, attributes, body }: Row): Buffer {
  const name = Buffer.from(key);
  const lengths = Buffer.alloc(6);
  lengths.writeUInt16BE(name.length, 0);
  lengths.writeUInt32BE(attributes.length, 2);
  return hash(Buffer.concat([lengths.subarray(0, 2), name, lengths.subarray(2), attributes, body]));
}

/** By key hash in hex. */
export class Rows extends Map<string, Row> {
  put(row: Row): string {
    const name = hash(row.key).toString('hex');
    this.set(name, row);
    return name;
  }

  /** As a beat has it. */
  digest(): { count: number; sum: Buffer } {
    return { count: this.size, sum: sum([...this.values()].map(contentHash)) };
  }
}

function sum(hashes: readonly Buffer[]): Buffer {
  const total = hashes.reduce((so, one) => (so + BigInt(`0x${one.toString('hex')}`)) % modulus, 0n);
  return Buffer.from(total.toString(16).padStart(32, '0'), 'hex');
}
