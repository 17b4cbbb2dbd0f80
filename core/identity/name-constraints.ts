/**
 * The name constraints of a subtree's issuer (RFC 5280, section 4.2.1.10), for verifiers that know nothing of Banyan: the clients of the APIs. Everything below
 * the issuer has `subtreeUnit` in its name, so nothing below counts as a user or as an authority of another kind, and servers have only these hosts.
 *
 * There is no constraint for the paths of nodes: for a URI, constraints look at the host alone, which is the same for the whole tree. The extension is not
 * critical, because Go (kubectl) does not know constraints of names of this kind, and would refuse the whole certificate. OpenSSL checks them in both cases.
 */
import { isIP } from 'node:net';
import { subtreeUnit } from './issuer-name.ts';

export const nameConstraintsOid = '2.5.29.30';

const sequence = 0x30;
const set = 0x31;
const utf8String = 0x0c;
/** The encoded object identifier of OU: 2.5.4.11. */
const organizationalUnit = Buffer.from([0x06, 0x03, 0x55, 0x04, 0x0b]);
/** The tags of GeneralName. The name of a directory is wrapped, the others are not. */
const dnsName = 0x82;
const directoryName = 0xa4;
const ipAddress = 0x87;
const permitted = 0xa0;
const excluded = 0xa1;

/** `hosts`: DNS names, each with all names below it, and IP addresses. */
export function nameConstraints(hosts: readonly string[]): Buffer {
  const dns = hosts.filter((host) => isIP(host) === 0).map((host) => der(dnsName, Buffer.from(host, 'latin1')));
  const ips = hosts.filter((host) => isIP(host) !== 0).map((host) => der(ipAddress, singleAddress(host)));
  const unit = der(sequence, der(set, der(sequence, organizationalUnit, der(utf8String, Buffer.from(subtreeUnit)))));
  // Without a permitted name of its kind, every name of the kind would be permitted.
  const noDns = dns.length === 0 ? [der(dnsName)] : [];
  const noIps = ips.length === 0 ? [der(ipAddress, Buffer.alloc(8)), der(ipAddress, Buffer.alloc(32))] : [];
  const no = [...noDns, ...noIps];
  return der(
    sequence,
    der(permitted, ...[der(directoryName, unit), ...dns, ...ips].map((name) => der(sequence, name))),
    ...(no.length > 0 ? [der(excluded, ...no.map((name) => der(sequence, name)))] : []),
  );
}

/** The hosts that the constraints permit, as `nameConstraints` has written them: IP addresses as bytes. */
export function permittedHosts(constraints: Uint8Array): PermittedHosts {
  const [all = none] = elements(constraints);
  const names = elements(all.content)
    .filter(({ tag }) => tag === permitted)
    .flatMap(({ content }) => elements(content).flatMap((name) => elements(name.content)));
  const ofKind = (kind: number) => names.filter(({ tag }) => tag === kind).map(({ content }) => Buffer.from(content));
  return { dns: ofKind(dnsName).map((name) => name.toString('latin1')), ips: ofKind(ipAddress) };
}

export interface PermittedHosts {
  readonly dns: readonly string[];
  /** Each: an address and its mask. */
  readonly ips: readonly Buffer[];
}

export function permitsHost({ dns, ips }: PermittedHosts, host: string): boolean {
  if (isIP(host) === 0) return dns.some((one) => host === one || host.endsWith(`.${one}`));
  const address = singleAddress(host);
  return ips.some((one) => one.equals(address));
}

interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
}

const none: Element = { tag: 0, content: new Uint8Array() };

/** The elements one after the other. Lengths have at most two bytes, as in `der`. */
function elements(bytes: Uint8Array): Element[] {
  const found: Element[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const first = bytes[at + 1]!;
    const more = first < 0x80 ? 0 : first - 0x80;
    const length = more === 0 ? first : more === 1 ? bytes[at + 2]! : (bytes[at + 2]! << 8) | bytes[at + 3]!;
    const from = at + 2 + more;
    found.push({ tag: bytes[at]!, content: bytes.subarray(from, from + length) });
    at = from + length;
  }
  return found;
}

/** The address, and a mask for this address alone. */
function singleAddress(host: string): Buffer {
  const address = isIP(host) === 4 ? Buffer.from(host.split('.').map(Number)) : bytesOfIpv6(host);
  return Buffer.concat([address, Buffer.alloc(address.length, 0xff)]);
}

function bytesOfIpv6(host: string): Buffer {
  // The parser of URLs writes IPv4 parts as hexadecimal groups.
  const groups = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::');
  const [begin = [], end = []] = groups.map((part) => (part === '' ? [] : part.split(':')));
  const zeros = groups.length === 2 ? Array<string>(8 - begin.length - end.length).fill('0') : [];
  const words = [...begin, ...zeros, ...end].map((group) => Number.parseInt(group, 16));
  return Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}

function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}
