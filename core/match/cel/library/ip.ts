/** IP addresses and networks, read as Go's package net/netip reads them: no leading zeros, no zone, no IPv4 address inside of an IPv6 address. */
import { isIPv4, isIPv6 } from 'node:net';

export class Ip {
  readonly family: 4 | 6;
  /** The address as one number of 32 or 128 bits. */
  readonly bits: bigint;

  constructor(family: 4 | 6, bits: bigint) {
    this.family = family;
    this.bits = bits;
  }

  equals(other: unknown): boolean {
    return other instanceof Ip && other.family === this.family && other.bits === this.bits;
  }

  /** The canonical form (RFC 5952). */
  toString(): string {
    return this.family === 4 ? dotted(this.bits) : colons(this.bits);
  }

  /** Whether the first `length` bits are those of `bits`, which has as many bits as the address. */
  startsWith(bits: bigint, length: number): boolean {
    const rest = BigInt(sizeOf(this.family) - length);
    return this.bits >> rest === bits >> rest;
  }

  get isUnspecified(): boolean {
    return this.bits === 0n;
  }

  get isLoopback(): boolean {
    return this.family === 4 ? this.#isIn('127.0.0.0', 8) : this.bits === 1n;
  }

  get isMulticast(): boolean {
    return this.family === 4 ? this.#isIn('224.0.0.0', 4) : this.#isIn('ff00::', 8);
  }

  get isLinkLocalUnicast(): boolean {
    return this.family === 4 ? this.#isIn('169.254.0.0', 16) : this.#isIn('fe80::', 10);
  }

  get isLinkLocalMulticast(): boolean {
    // The second digit of the IPv6 address has flags. They may have any value.
    return this.family === 4 ? this.#isIn('224.0.0.0', 24) : ((this.bits >> 112n) & 0xff0fn) === 0xff02n;
  }

  get isGlobalUnicast(): boolean {
    const isBroadcast = this.family === 4 && this.bits === 0xffff_ffffn;
    return !isBroadcast && !this.isUnspecified && !this.isLoopback && !this.isMulticast && !this.isLinkLocalUnicast;
  }

  #isIn(network: string, length: number): boolean {
    return this.startsWith(readIp(network)!.bits, length);
  }
}

export class Cidr {
  readonly ip: Ip;
  readonly length: number;

  constructor(ip: Ip, length: number) {
    this.ip = ip;
    this.length = length;
  }

  equals(other: unknown): boolean {
    return other instanceof Cidr && other.length === this.length && other.ip.equals(this.ip);
  }

  toString(): string {
    return `${this.ip}/${this.length}`;
  }

  containsIp(ip: Ip): boolean {
    return ip.family === this.ip.family && ip.startsWith(this.ip.bits, this.length);
  }

  containsCidr({ ip, length }: Cidr): boolean {
    return this.length <= length && this.containsIp(ip);
  }

  masked(): Cidr {
    const rest = BigInt(sizeOf(this.ip.family) - this.length);
    return new Cidr(new Ip(this.ip.family, (this.ip.bits >> rest) << rest), this.length);
  }
}

/** Throws TypeError if the text is no address. */
export function parseIp(text: string): Ip {
  const ip = readIp(text.replace(/%.*$/s, ''));
  if (!ip) throw new TypeError(`IP Address ${JSON.stringify(text)} parse error during conversion from string`);
  if (text.includes('%')) throw new TypeError(`IP address ${JSON.stringify(text)} with zone value is not allowed`);
  return withoutMapped(ip, text);
}

/** Throws TypeError if the text is no network. */
export function parseCidr(text: string): Cidr {
  const [, address = '', bits = ''] = /^([^/]*)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const ip = readIp(address);
  if (!ip || Number(bits) > sizeOf(ip.family)) {
    throw new TypeError(`network address parse error during conversion from string: ${JSON.stringify(text)}`);
  }
  return new Cidr(withoutMapped(ip, text), Number(bits));
}

function withoutMapped(ip: Ip, text: string): Ip {
  if (ip.family === 6 && ip.bits >> 32n === 0xffffn) {
    throw new TypeError(`IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`);
  }
  return ip;
}

function readIp(text: string): Ip | undefined {
  if (isIPv4(text)) return new Ip(4, fromDotted(text));
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const [head = '', tail] = text.split('::');
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const between = Array.from({ length: 8 - before.length - after.length }, () => 0n);
  return new Ip(
    6,
    [...before, ...between, ...after].reduce((bits, group) => (bits << 16n) | group, 0n),
  );
}

/** The last group may be an IPv4 address, which has two groups. */
function groupsOf(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const bits = fromDotted(group);
    return [bits >> 16n, bits & 0xffffn];
  });
}

function fromDotted(text: string): bigint {
  return text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

function sizeOf(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

function dotted(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.');
}

/** The longest row of at least two groups of zeros, and the first one of several, becomes `::`. */
function colons(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => (bits >> BigInt(112 - 16 * index)) & 0xffffn);
  let [start, length] = [0, 0];
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (to < 8 && groups[to] === 0n) to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  const text = (some: bigint[]) => some.map((group) => group.toString(16)).join(':');
  return length < 2 ? text(groups) : `${text(groups.slice(0, start))}::${text(groups.slice(start + length))}`;
}
