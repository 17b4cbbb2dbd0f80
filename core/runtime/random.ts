/** Random numbers. Callers always pass the source in, so that one seed decides a whole simulation. */
import { randomBytes } from 'node:crypto';

export interface Random {
  bytes(length: number): Uint8Array;
  /** A number in [0, 1), uniformly distributed. */
  fraction(): number;
}

/** Number of bytes that one call of the operating system's source brings. The call takes much longer than the copying of 16 bytes. */
const supplyLength = 4096;
/** Longer requests have a call of their own. */
const fromSupplyMax = 64;
let supply: Uint8Array = new Uint8Array(0);
let used = 0;

export const systemRandom: Random = {
  bytes(length) {
    if (length > fromSupplyMax) return new Uint8Array(randomBytes(length));
    if (used + length > supply.length) [supply, used] = [randomBytes(supplyLength), 0];
    const bytes = new Uint8Array(supply.subarray(used, used + length));
    // The supply keeps no copy of a key.
    supply.fill(0, used, used + length);
    used += length;
    return bytes;
  },
  fraction: () => Math.random(),
};

/** mulberry32 (public domain, Tommy Ettinger): a small generator with 2^32 period, for tests and simulation only. */
export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(this.fraction() * 256));
  }
}

/** A version 4 UUID (RFC 9562): the form that Kubernetes gives to the uid of every object. */
export function uuid(random: Random): string {
  const b = random.bytes(16);
  b[6] = (b[6]! & 0x0f) | 0x40;
  b[8] = (b[8]! & 0x3f) | 0x80;
  const hex = Buffer.from(b).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
