/** Finds the user of each request. */
import type { Http2ServerRequest } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { AccessAttributes } from '../../access/attributes.ts';
import type { AccessDecision } from '../../access/refusal.ts';
import { bearerToken } from '../../authentication/bearer.ts';
import { isFromIssuer } from '../../identity/issuer-name.ts';
import { isOfNode } from '../../identity/peer-identity.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { UserInfo } from '../space.ts';
import { impersonated } from './impersonation.ts';

/** The user of a certificate. Undefined if the certificate is not of a user. */
export type Authenticate = (certificate: { subject: Record<string, unknown> } | undefined) => UserInfo | undefined;

/** Whether a certificate of the user that is valid from this time on was revoked. The time is in ms of the wall clock. */
export type IsRevoked = (user: string, validFromMs: number) => boolean;

interface Holder {
  readonly user: UserInfo;
  /** Present if a certificate names the user. */
  readonly validFromMs?: number;
}

export interface TokenUsers {
  /** The user of a bearer token. Undefined: the token is not valid here. `audiences`: the token has to be for one of them; absent: for this node. */
  userOf(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined>;
}

export class RequestUsers {
  readonly #authenticate: Authenticate;
  readonly #tokens: TokenUsers | undefined;
  readonly #isRevoked: IsRevoked;
  /** The user of each connection. A client sends its certificate once per connection, and decoding a certificate takes a third of a millisecond. */
  readonly #holders = new Map<Connection, Holder>();

  constructor(authenticate: Authenticate, isRevoked: IsRevoked, tokens?: TokenUsers) {
    this.#authenticate = authenticate;
    this.#tokens = tokens;
    this.#isRevoked = isRevoked;
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
    const user = this.#holderOf(request) ?? (await this.#bearerOf(request));
    if (!user) throw new BanyanError('Unauthorized', 'Unauthorized');
    authenticated(user);
    return impersonated(request.headers, user, decide);
  }

  async #bearerOf({ headers }: Http2ServerRequest): Promise<UserInfo | undefined> {
    const token = bearerToken(headers.authorization);
    return token === undefined ? undefined : this.#tokens?.userOf(token);
  }

  /** The user of the connection. Undefined: the connection has none. Throws Unauthorized if its user was revoked. */
  #holderOf(request: Http2ServerRequest): UserInfo | undefined {
    const socket = request.socket as TLSSocket;
    const connection = connectionOf(request);
    const known = this.#holders.get(connection);
    if (known) return known.user;
    const certificate = isUser(socket) ? socket.getPeerCertificate() : undefined;
    const user = this.#authenticate(certificate as { subject: Record<string, unknown> } | undefined);
    if (!user) return undefined;
    const holder = { user, validFromMs: Date.parse(certificate?.valid_from ?? '') };
    if (this.#isOver(holder))
      throw new BanyanError('Unauthorized', `the certificate of User ${JSON.stringify(user.name)} was revoked`);
    this.#keep(connection, holder);
    return user;
  }

  #keep(connection: Connection, holder: Holder): void {
    this.#holders.set(connection, holder);
    connection.once('close', () => this.#holders.delete(connection));
  }

  #isOver({ user, validFromMs }: Holder): boolean {
    return validFromMs !== undefined && this.#isRevoked(user.name, validFromMs);
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
 * True if the authority of the tree itself has signed the certificate, and the certificate is not of a node. A certificate from a relay's issuer must not count:
 * whoever holds the issuer could make a certificate for any user. The key of a node is a key for links, and its name could be the name of a user.
 */
function isUser(socket: TLSSocket): boolean {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  return certificate !== undefined && !isFromIssuer(certificate) && !isOfNode(certificate);
}
