/**
 * The way to one parent: where TCP connects, which proxies and gateways are on the way, and which node has to be at its end. The transports run on the
 * resulting connection.
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
  /** The file that `link.ca` names. */
  readonly linkCaPem?: Buffer;
  readonly environment: EnvironmentProxies;
  readonly credentials: NodeCredentials;
  readonly clock: Clock;
  /** Absent: trusts by the credentials, or the gateway that terminates TLS. `check` returns why a node of the tree is not the parent. */
  readonly trust?: (check: (peer: PeerIdentity) => BanyanError | undefined) => Trust;
}

/**
 * For a name with several addresses, Node gives up each address but the last after 250 to 500 ms. On a long line, or after a lost packet, that is before the
 * address can have answered. So each address gets a quarter of the time.
 */
const attempts = 4;

export class Way {
  /** host:port of the parent, as it was configured. */
  readonly address: string;
  /** For messages: with the proxy. */
  readonly shown: string;
  /** Appended to the name of the transport: `+proxy`. */
  readonly suffix: string;
  /** Where TCP connects: to the proxy if there is one. */
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** The expected parent. With `terminated`, its identity has yet to be proven over the connection. */
  readonly parent: PeerIdentity;
  readonly terminated: boolean;
  readonly credentials: NodeCredentials;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #proxy: ProxyAddress | undefined;
  readonly #linkCaPem: Buffer | undefined;
  readonly #trust: Trust;

  /** Throws Invalid. */
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

  /** Authority of `host` and `port`. */
  get tcpAddress(): string {
    return hostPort(this.host, this.port);
  }

  /** Begins a TCP connection to `host` and `port`. The caller gives the connection up after `withinMs`. */
  connect(withinMs: number): Socket {
    const autoSelectFamilyAttemptTimeout = Math.ceil(withinMs / attempts);
    return connect({ host: this.host, port: this.port, noDelay: true, autoSelectFamilyAttemptTimeout });
  }

  /**
   * Makes the secure connection over a TCP connection to `host` and `port`. Destroys the TCP connection on failure. Throws Unavailable, Unauthorized,
   * Forbidden, Protocol.
   */
  async open(tcp: Socket, alpnProtocols: readonly string[]): Promise<SecureConnection> {
    const through = this.#proxy ? await this.#tunnel(tcp, this.#proxy) : tcp;
    return secureConnection(through, this.#target.host, this.#trust, alpnProtocols);
  }

  /** Why a node of the tree is not the parent. */
  whyNotParent(peer: PeerIdentity): BanyanError | undefined {
    return notTheParent(peer, this.parent.path, this.address);
  }

  #tunnel(tcp: Socket, proxy: ProxyAddress): Promise<Socket> {
    const caPem = this.#linkCaPem;
    return openTunnel(tcp, { proxy, target: this.#target, clock: this.clock, ...(caPem ? { caPem } : {}) });
  }
}

/** Resolves when a TCP connection to a way's `host` and `port` is open. Rejects with its error. */
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
