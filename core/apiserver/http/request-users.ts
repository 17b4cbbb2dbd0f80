/** Finds the user of each request: by the client's certificate, by the headers of a front proxy, or by a token. */
import type { X509Certificate } from 'node:crypto';
import type { Http2ServerRequest } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { AccessAttributes } from '../../access/attributes.ts';
import type { AccessDecision } from '../../access/refusal.ts';
import { bearerToken } from '../../authentication/bearer.ts';
import { type FrontProxyConfig, isAllowedProxy, proxiedUser } from '../../authentication/front-proxy.ts';
import { clientChain, leadsTo } from '../../identity/client-authority.ts';
import { isFromIssuer } from '../../identity/issuer-name.ts';
import { isOfNode } from '../../identity/peer-identity.ts';
import { authoritiesIn } from '../../identity/pem-certificates.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { UserInfo } from '../space.ts';
import type { ApiTls } from './https-listener.ts';
import { impersonated } from './impersonation.ts';

/** The user of a certificate. Undefined if the certificate is not of a user. */
export type Authenticate = (certificate: { subject: Record<string, unknown> } | undefined) => UserInfo | undefined;

/** Whether a certificate of the user that is valid from this time on was revoked. The time is in ms of the wall clock. */
export type IsRevoked = (user: string, validFromMs: number) => boolean;

/** The caller by the certificate of a connection. */
interface Holder {
  /** Absent: the certificate is of no user. */
  readonly user?: UserInfo;
  /** Present if a certificate names the user. */
  readonly validFromMs?: number;
  /** True: the headers of each request may name its user. */
  readonly isFrontProxy?: boolean;
}

export interface TokenUsers {
  /** The user of a bearer token. Undefined: the token is not valid here. `audiences`: the token has to be for one of them; absent: for this node. */
  userOf(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined>;
  /** All audiences of an account's token that `userOf` takes. Empty: the token is of a person, or of nobody. */
  audiencesOf(token: string): Promise<readonly string[]>;
  /** The user of a token that is only for `/metrics`. Absent: there are no such tokens. */
  metricsUserOf?(token: string): Promise<UserInfo | undefined>;
}

export interface RequestUsersPorts {
  readonly authenticate: Authenticate;
  readonly isRevoked: IsRevoked;
  readonly tokens?: TokenUsers | undefined;
  /** Absent: headers name no users. */
  readonly frontProxy?: FrontProxyConfig | undefined;
  /** The present authorities. */
  tls(): ApiTls;
}

export class RequestUsers {
  readonly #ports: RequestUsersPorts;
  /** The caller of each connection. A client sends its certificate once per connection, and decoding a certificate takes a third of a millisecond. */
  readonly #holders = new Map<Connection, Holder>();

  constructor(ports: RequestUsersPorts) {
    this.#ports = ports;
  }

  /** Ends the connections of users who are revoked now, with all their watches and streams. */
  endRevoked(): void {
    for (const [connection, holder] of this.#holders) if (this.#isOver(holder)) connection.destroy();
  }

  /** All requests on the connection are of this user. */
  set(connection: Connection, user: UserInfo): void {
    this.#keep(connection, { user });
  }

  /**
   * The user of a request, or the user as whom the request acts. `decide`: decides about a user in the system space of the node. `authenticated` gets the user
   * before anything is decided.
   */
  async of(
    request: Http2ServerRequest,
    decide: (attributes: AccessAttributes) => AccessDecision,
    authenticated: (user: UserInfo) => void,
  ): Promise<UserInfo> {
    const user = this.#shownBy(request) ?? (await this.#bearerOf(request));
    if (!user) throw new BanyanError('Unauthorized', 'Unauthorized');
    authenticated(user);
    return impersonated(request.headers, user, decide);
  }

  async #bearerOf({ headers, url }: Http2ServerRequest): Promise<UserInfo | undefined> {
    const token = bearerToken(headers.authorization);
    const { tokens } = this.#ports;
    if (token === undefined || !tokens) return undefined;
    const user = await tokens.userOf(token);
    if (user || !/^\/metrics(\?|$)/.test(url)) return user;
    return tokens.metricsUserOf?.(token);
  }

  /** The user of the certificate, or the user whom a front proxy names. Undefined: there is none. Throws Unauthorized if the user of the certificate was revoked. */
  #shownBy(request: Http2ServerRequest): UserInfo | undefined {
    const connection = connectionOf(request);
    const holder = this.#holders.get(connection) ?? this.#read(request.socket as TLSSocket);
    if (this.#isOver(holder)) {
      const name = JSON.stringify(holder.user?.name);
      throw new BanyanError('Unauthorized', `the certificate of User ${name} was revoked`);
    }
    if (!this.#holders.has(connection)) this.#keep(connection, holder);
    const { frontProxy } = this.#ports;
    const named = holder.isFrontProxy && frontProxy ? proxiedUser(frontProxy, request.rawHeaders) : undefined;
    return named ?? holder.user;
  }

  #read(socket: TLSSocket): Holder {
    const leaf = socket.authorized ? socket.getPeerX509Certificate() : undefined;
    if (!leaf) return {};
    const { ca, frontProxyCa } = this.#ports.tls();
    const { frontProxy, authenticate } = this.#ports;
    const chain = clientChain(socket);
    const certificate = socket.getPeerCertificate() as unknown as { subject: Record<string, unknown> };
    const isFrontProxy =
      frontProxy !== undefined &&
      frontProxyCa !== undefined &&
      isAllowedProxy(frontProxy, certificate.subject?.CN) &&
      leadsTo(chain, authoritiesIn(frontProxyCa));
    const user = isUser(leaf, chain) && leadsTo(chain, authoritiesIn(ca)) ? authenticate(certificate) : undefined;
    return { ...(user ? { user, validFromMs: Date.parse(leaf.validFrom) } : {}), isFrontProxy };
  }

  #keep(connection: Connection, holder: Holder): void {
    this.#holders.set(connection, holder);
    connection.once('close', () => this.#holders.delete(connection));
  }

  #isOver({ user, validFromMs }: Holder): boolean {
    return user !== undefined && validFromMs !== undefined && this.#ports.isRevoked(user.name, validFromMs);
  }
}

export interface Connection {
  destroy(): void;
  once(event: 'close', act: () => void): unknown;
}

/** The HTTP/2 session, or the socket of an HTTP/1.1 connection. In HTTP/2, `request.socket` is another object for every request. */
export function connectionOf(request: Http2ServerRequest): Connection {
  return request.stream?.session ?? request.socket;
}

/**
 * False for the certificates of nodes, and for those with an issuer of a relay anywhere in their chain. The authority of users may be the one of nodes too, and
 * whoever holds an issuer could make a certificate for any user. The key of a node is a key for links, and its name could be the name of a user.
 */
function isUser(leaf: X509Certificate, chain: readonly X509Certificate[]): boolean {
  return !isOfNode(leaf) && !chain.some(isFromIssuer);
}
