/**
 * The digest of a table: the number of live rows, and the sum modulo 2^128 of their content hashes. A content includes its key, so the sum identifies the set
 * of rows. The transaction that changes a row also updates the digest. So two ends of a feed can be compared without reading their rows.
 */
import { hashBytes } from '../object/hash.ts';
import { asBuffer, readU48, u48Bytes } from '../store/bytes.ts';

export interface Digest {
  readonly count: number;
  readonly sum: bigint;
}

export const emptyDigest: Digest = { count: 0, sum: 0n };
/** Length of the stored form, `u48 count, 16 bytes sum`. */
export const digestBytes = u48Bytes + hashBytes;
const modulus = 1n << 128n;
const wordBytes = 4;
const wordValues = 2 ** 32;

/**
 * Updates the digest at `offset` of a record after a change of one row. `before` and `after`: the hashes of the row's contents; undefined: no content. Changes
 * the record in place, in steps of 32 bits, because this runs for every entry at both ends. With big integers, it would take longer than all other work on a
 * row.
 */
export function moveDigest(
  record: Buffer,
  offset: number,
  before: Uint8Array | undefined,
  after: Uint8Array | undefined,
): void {
  const count = record.readUIntBE(offset, u48Bytes) - (before ? 1 : 0) + (after ? 1 : 0);
  record.writeUIntBE(count, offset, u48Bytes);
  if (before) addTo(record, offset + u48Bytes, before, -1);
  if (after) addTo(record, offset + u48Bytes, after, 1);
}

function addTo(record: Buffer, offset: number, hash: Uint8Array, sign: 1 | -1): void {
  const added = asBuffer(hash);
  let carry = 0;
  for (let at = hashBytes - wordBytes; at >= 0; at -= wordBytes) {
    const word = record.readUInt32BE(offset + at) + sign * added.readUInt32BE(at) + carry;
    carry = Math.floor(word / wordValues);
    record.writeUInt32BE(word - carry * wordValues, offset + at);
  }
}

export function decodeDigest(bytes: Uint8Array | undefined): Digest {
  if (!bytes || bytes.length === 0) return emptyDigest;
  return { count: readU48(bytes), sum: sumOf(bytes.subarray(u48Bytes, u48Bytes + hashBytes)) };
}

export function sumBytes(sum: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(hashBytes);
  bytes.writeBigUInt64BE(sum >> 64n, 0);
  bytes.writeBigUInt64BE(sum & 0xffff_ffff_ffff_ffffn, 8);
  return bytes;
}

/** The difference of two digests as a text. Empty: no difference. The text stays the same as long as the same rows differ. */
export function digestDifference(own: Digest, peer: Digest): string {
  const sum = (own.sum - peer.sum + modulus) % modulus;
  return own.count === peer.count && sum === 0n ? '' : `${own.count - peer.count}/${sum.toString(16)}`;
}

/** A hash, or a sum of hashes, as a number. */
export function sumOf(hash: Uint8Array): bigint {
  const bytes = asBuffer(hash);
  return (bytes.readBigUInt64BE(0) << 64n) | bytes.readBigUInt64BE(8);
}
