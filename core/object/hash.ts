/** Identities: 128 bits of SHA-256. A collision does not happen by accident, and making one takes 2^64 work. */
import { hash } from 'node:crypto';

export const hashBytes = 16;

/** The 16-byte hash of a text or of bytes. */
export function hash128(data: string | Uint8Array): Uint8Array {
  return hash('sha256', data, 'buffer').subarray(0, hashBytes);
}
