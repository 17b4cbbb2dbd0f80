/**
 * Hashes that identify contents: 128 bits of SHA-256. Two contents do not get the same hash by accident, and an attacker needs 2^64 operations to find two.
 */
import { hash } from 'node:crypto';

export const hashBytes = 16;

/** The 16-byte hash of a text or of bytes. */
export function hash128(data: string | Uint8Array): Uint8Array {
  return hash('sha256', data, 'buffer').subarray(0, hashBytes);
}
