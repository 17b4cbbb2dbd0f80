/**
 * Writes the fields of a protobuf message one after the other into a buffer of the right length, for the most frequent frames. The generated code would write
 * them with a writer, a list of pieces and three copies. Values that are 0 or empty are left out. A tag is `field << 3 | type`, in one byte below field 16.
 */
import { Buffer } from 'node:buffer';

/** The number of values in one byte of a varint. */
export const base = 0x80;

/** Whether a varint of these frames can have this number. Other numbers are left to the generated code. */
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

/** Up to 2^53, by division: the operators on bits end at 2^32. */
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
