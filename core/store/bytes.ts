/** Building and reading the keys and small records of the store: big-endian, so that byte order is number order. */
import { Buffer } from 'node:buffer';

/** Revisions and lengths that order keys take 6 bytes: 2^48 changes are 8,900 years at a thousand a second. */
export const u48Bytes = 6;
/** Numbers of what is counted, and of tables. */
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
 * A copy in memory of its own, for what is kept for long: a small buffer keeps all of the pool that it is cut from, 64 KiB with Node 26
 * (https://nodejs.org/api/buffer.html#bufferpoolsize).
 */
export function lasting(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/**
 * A copy of a few bytes out of some more, in memory of its own. A view would cost ten times as much (0.5 us with Node 26): of an array of up to 64 bytes V8
 * has the bytes in its heap, and moves them out of it for whoever wants a view.
 */
export function cut(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(end - start);
  for (let at = start; at < end; at++) copy[at - start] = bytes[at]!;
  return copy;
}

/** Up to here, hashes, keys and small records: comparing them takes less than calling Buffer.compare. */
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
