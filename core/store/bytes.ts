/** Builds and reads the keys and small records of the store. Numbers are big-endian, so that the order of the bytes is the order of the numbers. */
import { Buffer } from 'node:buffer';

/** Size of a revision or a length in a key. 2^48 changes last 8,900 years at a thousand changes a second. */
export const u48Bytes = 6;
/** Size of a counter, and of the number of a table. */
export const u32Bytes = 4;

export function u16(value: number): Uint8Array {
  const b = Buffer.allocUnsafe(2);
  b.writeUInt16BE(value);
  return b;
}

export function u32(value: number): Uint8Array {
  const b = Buffer.allocUnsafe(4);
  b.writeUInt32BE(value);
  return b;
}

export function u48(value: number): Uint8Array {
  const b = Buffer.allocUnsafe(6);
  b.writeUIntBE(value, 0, 6);
  return b;
}

export function readU32(bytes: Uint8Array, offset = 0): number {
  return asBuffer(bytes).readUInt32BE(offset);
}

export function readU48(bytes: Uint8Array, offset = 0): number {
  return asBuffer(bytes).readUIntBE(offset, 6);
}

export function text(value: string): Uint8Array {
  return Buffer.from(value, 'utf8');
}

export function asText(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('utf8');
}

export function concat(...parts: Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

/**
 * Copies bytes that are kept for a long time into memory of their own. A small buffer is a part of a pool, and would keep the whole pool in memory: 64 KiB
 * with Node 26 (https://nodejs.org/api/buffer.html#bufferpoolsize).
 */
export function lasting(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/**
 * Copies a few bytes of a small array into memory of their own. A view would cost ten times as much (0.5 us with Node 26): V8 keeps an array of up to 64
 * bytes in its heap, and must move the bytes out of the heap to make a view.
 */
export function cut(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(end - start);
  for (let at = start; at < end; at++) copy[at - start] = bytes[at]!;
  return copy;
}

/** Up to this length (hashes, keys, small records), the loop in `equalBytes` is faster than a call of Buffer.compare. */
const comparedHereBytes = 64;

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  if (a.length > comparedHereBytes) return Buffer.compare(a, b) === 0;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function hex(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('hex');
}

/** The range of all keys that begin with `prefix`. The prefix must not be all 0xff. */
export function prefixRange(prefix: Uint8Array): { from: Uint8Array; to: Uint8Array } {
  const to = Buffer.from(prefix);
  for (let i = to.length - 1; i >= 0; i--) {
    if (to[i] !== 0xff) {
      to[i]!++;
      return { from: prefix, to: to.subarray(0, i + 1) };
    }
  }
  throw new Error('a prefix of only 0xff bytes has no end');
}
