/** Finds the user of each request. */
import type { Http2ServerRequest } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { isFromIssuer } from '../../identity/issuer-name.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { UserInfo } from '../space.ts';
import { refuseImpersonation } from './impersonation.ts';

/** The user of a certificate. Undefined if the certificate is not of a user. Throws Forbidden if the user has no right to use the API. */
export type Authenticate = (certificate: { subject: Record<string, unknown> } | undefined) => UserInfo | undefined;

export class RequestUsers {
  readonly #authenticate: Authenticate;
  /** The user of each connection. A client sends its certificate once per connection, and decoding a certificate takes a third of a millisecond. */
  readonly #users = new WeakMap<object, UserInfo>();

  constructor(authenticate: Authenticate) {
    this.#authenticate = authenticate;
  }

  /** All requests on the connection are of this user. */
  set(connection: object, user: UserInfo): void {
    this.#users.set(connection, user);
  }

  /** The user of a request. Refuses impersonation for every request, including requests that the server passes on to another node. */
  of(request: Http2ServerRequest): UserInfo {
    const user = this.#holderOf(request);
    refuseImpersonation(request.headers, user.name);
    return user;
  }

  /** The user of the connection. Throws Unauthorized if the connection has no user. */
  #holderOf(request: Http2ServerRequest): UserInfo {
    const socket = request.socket as TLSSocket;
    const connection = connectionOf(request);
    const known = this.#users.get(connection);
    if (known) return known;
    const certificate = isUser(socket) ? socket.getPeerCertificate() : undefined;
    const user = this.#authenticate(certificate as { subject: Record<string, unknown> } | undefined);
    if (!user) throw new BanyanError('Unauthorized', 'Unauthorized');
    this.#users.set(connection, user);
    return user;
  }
}

/** The HTTP/2 session, or the socket of an HTTP/1.1 connection. In HTTP/2, `request.socket` is another object for every request. */
export function connectionOf(request: Http2ServerRequest): object {
  return request.stream?.session ?? request.socket;
}

/**
 * True if the authority of the tree itself has signed the certificate. A certificate from a relay's issuer must not count: whoever holds the issuer could
 * make a certificate for any user.
 */
function isUser(socket: TLSSocket): boolean {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  return certificate !== undefined && !isFromIssuer(certificate);
}
