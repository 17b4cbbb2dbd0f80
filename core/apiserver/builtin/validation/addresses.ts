/** Addresses and ranges of addresses in built-in kinds, as Kubernetes reads them: older fields accept leading zeros. */
import { isIPv4, isIPv6 } from 'node:net';
import type { TextCheck } from './visit.ts';

const addressMistake = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const rangeMistake = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

/** An address as bytes: 4 or 16. Undefined: the text is no address. An IPv4 address in the form of IPv6 has 4 bytes, as in Go. */
export function addressBytes(text: string): Uint8Array | undefined {
  const plain = text.replace(/(^|\.)0+(?=\d)/g, '$1');
  if (isIPv4(plain)) return Uint8Array.from(plain.split('.'), Number);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const bytes = ipv6Bytes(text);
  const isMapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return isMapped ? bytes.subarray(12) : bytes;
}

function ipv6Bytes(text: string): Uint8Array {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  let groups = text;
  if (dotted) {
    const [a = 0, b = 0, c = 0, d = 0] = dotted[2]!.split('.').map(Number);
    groups = `${dotted[1]}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [head = '', tail] = groups.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return Uint8Array.from(
    [...before, ...(tail === undefined ? [] : zeros), ...after].flatMap((group) => {
      const value = Number.parseInt(group, 16);
      return [value >> 8, value & 0xff];
    }),
  );
}

export function familyOf(address: Uint8Array | undefined): 4 | 6 | undefined {
  return address && (address.length === 4 ? 4 : 6);
}

/** The form in which Go writes an address (RFC 5952). */
export function formatAddress(address: Uint8Array): string {
  if (address.length === 4) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, i) => ((address[2 * i]! << 8) | address[2 * i + 1]!).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** An address in a field that accepts other forms than the canonical one. */
export const address: TextCheck = (text) => (addressBytes(text) ? [] : [addressMistake]);

/** An address in a newer field, and the name of an IPAddress. */
export const canonicalAddress: TextCheck = (text) => {
  const bytes = addressBytes(text);
  if (!bytes) return [addressMistake];
  if (bytes.length === 4 && text.includes(':')) return ['must not be an IPv4-mapped IPv6 address'];
  if (!text.includes(':') && text !== bytes.join('.')) return ['must not have leading 0s'];
  const canonical = formatAddress(bytes);
  return text === canonical ? [] : [`must be in canonical form ("${canonical}")`];
};

export interface AddressRange {
  readonly address: Uint8Array;
  readonly bits: number;
}

export function parseRange(text: string): AddressRange | undefined {
  const [host = '', bits = '', ...more] = text.split('/');
  const bytes = addressBytes(host);
  if (!bytes || more.length > 0 || !/^\d{1,3}$/.test(bits)) return undefined;
  const isMapped = bytes.length === 4 && host.includes(':');
  const max = isMapped ? 128 : bytes.length * 8;
  if (Number(bits) > max) return undefined;
  return { address: bytes, bits: Number(bits) };
}

export const addressRange: TextCheck = (text) => (parseRange(text) ? [] : [rangeMistake]);

export const canonicalRange: TextCheck = (text) => {
  const range = parseRange(text);
  if (!range) return [rangeMistake];
  const [host = '', bits = ''] = text.split('/');
  if (range.address.length === 4 && host.includes(':')) return ['must not have an IPv4-mapped IPv6 address'];
  if (bits !== String(range.bits) || (!host.includes(':') && host !== range.address.join('.'))) {
    return ['must not have leading 0s in IP or prefix length'];
  }
  const first = masked(range.address, range.bits);
  if (Buffer.compare(first, range.address) !== 0) return ['must not have bits set beyond the prefix length'];
  const canonical = `${formatAddress(first)}/${range.bits}`;
  return text === canonical ? [] : [`must be in canonical form ("${canonical}")`];
};

export function masked(bytes: Uint8Array, bits: number): Uint8Array {
  return bytes.map((byte, i) => {
    const kept = Math.min(8, Math.max(0, bits - 8 * i));
    return byte & (0xff << (8 - kept));
  });
}

/** True if `inner` is a strict part of `outer`. */
export function isStrictlyInside(inner: AddressRange, outer: AddressRange): boolean {
  if (inner.address.length !== outer.address.length || outer.bits >= inner.bits) return false;
  return Buffer.compare(masked(inner.address, outer.bits), masked(outer.address, outer.bits)) === 0;
}

/** An address at which a program can be reached from elsewhere. */
export const reachableAddress: TextCheck = (text) => {
  const bytes = addressBytes(text);
  if (!bytes) return ['must be a valid IP address'];
  const [a = 0, b = 0] = bytes;
  const is4 = bytes.length === 4;
  const isUnspecified = bytes.every((byte) => byte === 0);
  const isLoopback = is4 ? a === 127 : bytes.subarray(0, 15).every((byte) => byte === 0) && bytes[15] === 1;
  const isLinkLocal = is4 ? a === 169 && b === 254 : a === 0xfe && (b & 0xc0) === 0x80;
  const isLinkLocalMulticast = is4 ? a === 224 && b === 0 && bytes[2] === 0 : a === 0xff && (b & 0x0f) === 2;
  return [
    ...(isUnspecified ? [`may not be unspecified (${text})`] : []),
    ...(isLoopback ? ['may not be in the loopback range (127.0.0.0/8, ::1/128)'] : []),
    ...(isLinkLocal ? ['may not be in the link-local range (169.254.0.0/16, fe80::/10)'] : []),
    ...(isLinkLocalMulticast ? ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'] : []),
  ];
};
