/**
 * The list of hosts that a node reaches without a proxy, in the form of the variable NO_PROXY. The elements are separated by commas or spaces. An element
 * is a host (which includes all names below it), `.suffix` (only the names below it), `*`, `host:port`, an address, or a CIDR range. The rules are those of
 * Go's golang.org/x/net/http/httpproxy, which most other programs follow. An empty element matches nothing.
 */
import { BlockList, isIP } from 'node:net';

export type HostMatcher = (host: string, port: number) => boolean;

export function parseNoProxy(list: string): HostMatcher {
  const matchers = list
    .split(/[\s,]+/)
    .map((element) => element.trim().toLowerCase())
    .filter((element) => element !== '')
    .flatMap((element) => matcherOf(element) ?? []);
  return (host, port) => {
    const plain = normalHost(host);
    return matchers.some((matches) => matches(plain, port));
  };
}

/** The host in lower case, without brackets and without the dot of the DNS root. An IPv4 address in IPv6 form becomes an IPv4 address. */
function normalHost(host: string): string {
  const plain = host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1] ?? plain;
}

/** Undefined: the element has no valid form, so it matches nothing. */
function matcherOf(element: string): HostMatcher | undefined {
  if (element === '*') return () => true;
  const [, range, bits] = /^([^/]+)\/(\d{1,3})$/.exec(element) ?? [];
  if (range !== undefined) return rangeMatcher(normalHost(range), Number(bits));
  const { host, port } = splitPort(element);
  const samePort = (other: number) => port === undefined || port === other;
  if (isIP(host)) {
    const address = new BlockList();
    address.addAddress(host, family(host));
    return (other, otherPort) => samePort(otherPort) && isIP(other) !== 0 && address.check(other, family(other));
  }
  const name = host.replace(/^\*\./, '.').replace(/\.$/, '');
  if (name.replace(/^\./, '') === '') return undefined;
  if (name.startsWith('.')) return (other, otherPort) => samePort(otherPort) && other.endsWith(name);
  return (other, otherPort) => samePort(otherPort) && (other === name || other.endsWith(`.${name}`));
}

function rangeMatcher(address: string, bits: number): HostMatcher | undefined {
  if (!isIP(address) || bits > (isIP(address) === 4 ? 32 : 128)) return undefined;
  const range = new BlockList();
  range.addSubnet(address, bits, family(address));
  return (host) => isIP(host) !== 0 && range.check(host, family(host));
}

/** In an IPv6 address without brackets, a colon is not the beginning of a port. */
function splitPort(element: string): { host: string; port?: number } {
  const [, host, port] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(element) ?? [];
  if (host === undefined) return { host: normalHost(element) };
  return { host: normalHost(host), port: Number(port) };
}

function family(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
