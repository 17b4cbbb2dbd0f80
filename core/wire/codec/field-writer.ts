/**
 * Writes the fields of a protobuf message one after the other into a buffer of exactly the right length, for the most frequent frames. The generated code
 * would need a writer, a list of pieces and three copies. Leaves out values that are 0 or empty. A tag is `field << 3 | type`. It takes one byte if the
 * field number is below 16.
 */
import { Buffer } from 'node:buffer';

/** Number of different values that one byte of a varint can hold. */
export const base = 0x80;

/** True if a varint of these frames may have this number. The generated code handles all other numbers. */
export function isPlain(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

export function numberLength(value: number): number {
  return value === 0 ? 0 : 1 + varintLength(value);
}

export function bytesLength(length: number): number {
  return length === 0 ? 0 : 1 + varintLength(length) + length;
}

export function putNumber(bytes: Buffer, at: number, tag: number, value: number): number {
  if (value === 0) return at;
  bytes[at] = tag;
  return putVarint(bytes, at + 1, value);
}

export function putBytes(bytes: Buffer, at: number, tag: number, value: Uint8Array): number {
  if (value.length === 0) return at;
  bytes[at] = tag;
  const start = putVarint(bytes, at + 1, value.length);
  bytes.set(value, start);
  return start + value.length;
}

export function putText(bytes: Buffer, at: number, tag: number, value: string): number {
  if (value === '') return at;
  bytes[at] = tag;
  const start = putVarint(bytes, at + 1, Buffer.byteLength(value));
  return start + bytes.write(value, start);
}

/** Number of bytes of the varint, for values up to 2^53. Uses division, because the bit operators of JavaScript work only up to 2^32. */
export function varintLength(value: number): number {
  let length = 1;
  for (let left = value; left >= base; left = Math.floor(left / base)) length++;
  return length;
}

export function putVarint(bytes: Buffer, start: number, value: number): number {
  let at = start;
  let left = value;
  while (left >= base) {
    bytes[at++] = (left % base) | base;
    left = Math.floor(left / base);
  }
  bytes[at++] = left;
  return at;
}
