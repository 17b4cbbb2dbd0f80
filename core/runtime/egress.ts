/**
 * Decides which addresses a node calls for its users. A user writes the URL, for example of a rollout gate's webhook, and the node makes the request from its
 * own place in the network. Without this decision, the author of an object could reach programs that only the machine of the node can reach.
 */
import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import * as z from 'zod';
import { BanyanError } from './errors.ts';

const network = z.string().superRefine((text, context) => {
  if (parseNetwork(text)) return;
  context.addIssue(`must be an IP address or a network such as 10.0.0.0/8, and is ${JSON.stringify(text)}`);
});

export const egressSchema = z.strictObject({
  allow: z
    .array(network)
    .max(256)
    .default([])
    .describe(
      'Addresses and networks that the node may call although the node refuses them by default: loopback, link-local and metadata addresses.',
    ),
  refuse: z
    .array(network)
    .max(256)
    .default([])
    .describe('Further addresses and networks that the node never calls. An address in both lists is refused.'),
});

export type EgressOptions = z.infer<typeof egressSchema>;

/** The addresses that no user may reach through a node by default, with the name of each kind. */
const refusedByDefault: readonly (readonly [kind: string, addresses: BlockList])[] = [
  ['loopback', listOf(['127.0.0.0/8', '::1'])],
  ['unspecified', listOf(['0.0.0.0/8', '::'])],
  // Cloud providers serve credentials at 169.254.169.254.
  ['link-local', listOf(['169.254.0.0/16', 'fe80::/10'])],
  // AWS over IPv6, Alibaba Cloud, Azure.
  ['metadata', listOf(['fd00:ec2::/32', '100.100.100.200', '168.63.129.16'])],
  ['multicast or broadcast', listOf(['224.0.0.0/4', '255.255.255.255', 'ff00::/8'])],
];

export class Egress {
  readonly #allowed: BlockList;
  readonly #refused: BlockList;

  constructor({ allow, refuse }: EgressOptions) {
    this.#allowed = listOf(allow);
    this.#refused = listOf(refuse);
  }

  /** Why the node does not call the address. Undefined: the node calls the address. */
  reasonAgainst(address: string): string | undefined {
    const isIn = (list: BlockList) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
    if (isIn(this.#refused)) return `the node does not call ${address}: egress.refuse of the node names the address`;
    const kind = refusedByDefault.find(([, list]) => isIn(list))?.[0];
    if (kind === undefined || isIn(this.#allowed)) return undefined;
    return `the node does not call ${address}, a ${kind} address: add the address to egress.allow of the node, or use another one`;
  }

  /** Throws Forbidden if the host of the URL is an address that the node does not call. `lookup` checks names. */
  checkUrl(url: string): void {
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
    const reason = isIP(host) === 0 ? undefined : this.reasonAgainst(host);
    if (reason !== undefined) throw new BanyanError('Forbidden', reason);
  }

  /**
   * Resolves a name for one connection. The connection then uses exactly the addresses that were checked, so the owner of the name can't give another
   * address in between.
   */
  readonly lookup: LookupFunction = (hostname, options, done) => {
    systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, [], 0);
      const judged = addresses.map((one) => ({ one, reason: this.reasonAgainst(one.address) }));
      const usable = judged.flatMap(({ one, reason }) => (reason === undefined ? [one] : []));
      const [first] = usable;
      if (!first) {
        const [{ reason = '' } = {}] = judged;
        return done(new BanyanError('Forbidden', `${hostname}: ${reason || 'the name has no address'}`), [], 0);
      }
      if (options.all) done(null, usable);
      else done(null, first.address, first.family);
    });
  };
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of networks) {
    const { address, prefix, family } = parseNetwork(text)!;
    list.addSubnet(address, prefix, family);
    // A NAT64 gateway reaches the IPv4 address through this IPv6 address (RFC 6052).
    if (family === 'ipv4') list.addSubnet(`64:ff9b::${address}`, 96 + prefix, 'ipv6');
  }
  return list;
}

function parseNetwork(text: string): { address: string; prefix: number; family: 'ipv4' | 'ipv6' } | undefined {
  const [address = '', length, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return undefined;
  const bits = version === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  return prefix <= bits ? { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' } : undefined;
}
