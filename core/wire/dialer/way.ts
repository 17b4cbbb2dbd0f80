/**
 * The way to one parent: where TCP connects, which proxies and gateways are in between, and which node must be at the end. The transports use the
 * connection that this class makes.
 */

import { connect, type Socket } from 'node:net';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { hostPort } from '../../runtime/host-port.ts';
import type { ParentAddress } from '../network.ts';
import type { NodeCredentials } from '../node-credentials.ts';
import type { LinkOptions } from './link-options.ts';
import { chooseProxy, type EnvironmentProxies } from './proxy-choice.ts';
import type { ProxyAddress } from './proxy-url.ts';
import {
  type SecureConnection,
  secureConnection,
  type Trust,
  trustInTerminator,
  trustInTree,
} from './secure-connection.ts';
import { openTunnel } from './tunnel.ts';

export interface WayOptions {
  readonly parent: ParentAddress;
  readonly link: LinkOptions;
  /** The content of the file that `link.ca` names. */
  readonly linkCaPem?: Buffer;
  readonly environment: EnvironmentProxies;
  readonly credentials: NodeCredentials;
  readonly clock: Clock;
  /**
   * Which peers to trust. Absent: the node's own authorities, or the gateway that terminates TLS. `check` returns why a node of the tree is not the parent.
   */
  readonly trust?: (check: (peer: PeerIdentity) => BanyanError | undefined) => Trust;
}

/**
 * Number of addresses for which the time must be enough. If a name has several addresses, Node gives up each address except the last after 250 to 500 ms.
 * On a slow line or after a lost packet, an address may need longer to answer. So each address gets a quarter of the time.
 */
const attempts = 4;

export class Way {
  /** host:port of the parent, as configured. */
  readonly address: string;
  /** The address for messages, with the proxy. */
  readonly shown: string;
  /** Added to the name of the transport: `+proxy`. */
  readonly suffix: string;
  /** The host to which TCP connects: the proxy if there is one, else the parent. */
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** The expected parent. If `terminated` is true, the parent must prove this identity over the connection. */
  readonly parent: PeerIdentity;
  readonly terminated: boolean;
  readonly credentials: NodeCredentials;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #proxy: ProxyAddress | undefined;
  readonly #linkCaPem: Buffer | undefined;
  readonly #trust: Trust;

  /** Throws Invalid if the address or the proxy can't be used. */
  constructor({ parent, link, linkCaPem, environment, credentials, clock, trust }: WayOptions) {
    this.address = parent.address;
    this.#target = targetOf(parent.address);
    this.#proxy = chooseProxy(this.#target, link.proxy, environment);
    this.#linkCaPem = linkCaPem;
    this.shown = this.#proxy ? `${parent.address} through the proxy ${this.#proxy.shown}` : parent.address;
    this.suffix = this.#proxy ? '+proxy' : '';
    this.host = (this.#proxy ?? this.#target).host;
    this.port = (this.#proxy ?? this.#target).port;
    this.clock = clock;
    this.parent = { path: parent.path, role: parent.path === '' ? 'center' : 'relay' };
    this.terminated = link.terminatedTls;
    this.credentials = credentials;
    const check = (peer: PeerIdentity) => this.whyNotParent(peer);
    if (trust) this.#trust = trust(check);
    else if (link.terminatedTls) this.#trust = trustInTerminator(linkCaPem, this.parent, this.shown);
    else this.#trust = trustInTree(credentials, check);
  }

  /** `host` and `port` as host:port. */
  get tcpAddress(): string {
    return hostPort(this.host, this.port);
  }

  /** Begins a TCP connection to `host` and `port`. The caller will abort the connection after `withinMs`. */
  connect(withinMs: number): Socket {
    const autoSelectFamilyAttemptTimeout = Math.ceil(withinMs / attempts);
    return connect({ host: this.host, port: this.port, noDelay: true, autoSelectFamilyAttemptTimeout });
  }

  /**
   * Makes the secure connection over a TCP connection to `host` and `port`. On a failure, destroys the TCP connection and throws Unavailable, Unauthorized,
   * Forbidden or Protocol.
   */
  async open(tcp: Socket, alpnProtocols: readonly string[]): Promise<SecureConnection> {
    const through = this.#proxy ? await this.#tunnel(tcp, this.#proxy) : tcp;
    return secureConnection(through, this.#target.host, this.#trust, alpnProtocols);
  }

  /** The reason why a node of the tree is not the expected parent. Undefined if it is the parent. */
  whyNotParent(peer: PeerIdentity): BanyanError | undefined {
    return notTheParent(peer, this.parent.path, this.address);
  }

  #tunnel(tcp: Socket, proxy: ProxyAddress): Promise<Socket> {
    const caPem = this.#linkCaPem;
    return openTunnel(tcp, { proxy, target: this.#target, clock: this.clock, ...(caPem ? { caPem } : {}) });
  }
}

/** Resolves when the TCP connection is open. Rejects with the connection's error. */
export function connected(tcp: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    tcp.once('connect', () => {
      tcp.removeListener('error', reject);
      resolve();
    });
    tcp.once('error', reject);
  });
}

function targetOf(address: string): { host: string; port: number } {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(address) ?? [];
  if (host === undefined || Number(port) > 65_535) {
    throw new BanyanError('Invalid', `the parent's address "${address}" is not host:port`);
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

function notTheParent({ path, role }: PeerIdentity, parentPath: string, address: string): BanyanError | undefined {
  if (path === parentPath && role !== 'agent') return undefined;
  const expected = parentPath === '' ? 'the center' : `the relay "${parentPath}"`;
  return new BanyanError(
    'Unauthorized',
    `${address} is the ${role} "${path}", not ${expected}: check the parent's address and path in the configuration`,
  );
}
