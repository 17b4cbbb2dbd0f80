/** The way to one parent: where TCP goes, what has to be gone through, and who has to be at the end. The transports run on what comes out. */

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
  /** Absent: by the credentials, or by who terminates TLS. `check` returns why a node of the tree is not the parent. */
  readonly trust?: (check: (peer: PeerIdentity) => BanyanError | undefined) => Trust;
}

/**
 * Of a name with several addresses Node gives up each but the last one after 250 to 500 ms, which on a long line, or where the first packet is lost, is before
 * it can have answered; so each has a quarter of the time that there is.
 */
const attempts = 4;

export class Way {
  /** host:port of the parent, as it was configured. */
  readonly address: string;
  /** For messages: with the proxy. */
  readonly shown: string;
  /** What a transport's name gets behind it: `+proxy`. */
  readonly suffix: string;
  /** Where TCP goes: to the proxy if there is one. */
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** Who is meant. With `terminated` it has yet to be proven over the connection. */
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
    const check = (peer: PeerIdentity) => this.notMeant(peer);
    if (trust) this.#trust = trust(check);
    else if (link.terminatedTls) this.#trust = trustInTerminator(linkCaPem, this.parent, this.shown);
    else this.#trust = trustInTree(credentials, check);
  }

  /** Authority of `host` and `port`. */
  get tcpAddress(): string {
    return hostPort(this.host, this.port);
  }

  /** TCP to `host` and `port`, which is only being made. Whoever calls gives it up after `withinMs`. */
  connect(withinMs: number): Socket {
    const autoSelectFamilyAttemptTimeout = Math.ceil(withinMs / attempts);
    return connect({ host: this.host, port: this.port, noDelay: true, autoSelectFamilyAttemptTimeout });
  }

  /** From a TCP connection to `host` and `port`, which is destroyed if it fails. Throws Unavailable, Unauthorized, Forbidden, Protocol. */
  async open(tcp: Socket, alpnProtocols: readonly string[]): Promise<SecureConnection> {
    const through = this.#proxy ? await this.#tunnel(tcp, this.#proxy) : tcp;
    return secureConnection(through, this.#target.host, this.#trust, alpnProtocols);
  }

  /** Why a node of the tree is not the parent. */
  notMeant(peer: PeerIdentity): BanyanError | undefined {
    return notTheParent(peer, this.parent.path, this.address);
  }

  #tunnel(tcp: Socket, proxy: ProxyAddress): Promise<Socket> {
    const caPem = this.#linkCaPem;
    return openTunnel(tcp, { proxy, target: this.#target, clock: this.clock, ...(caPem ? { caPem } : {}) });
  }
}

/** Of TCP to a way's `host` and `port`: rejects with its error. */
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
  const meant = parentPath === '' ? 'the center' : `the relay "${parentPath}"`;
  return new BanyanError(
    'Unauthorized',
    `${address} is the ${role} "${path}", not ${meant}: check the parent's address and path in the configuration`,
  );
}
