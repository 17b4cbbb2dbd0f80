/**
 * TLS from the child to its parent, checked in words before a byte is sent over it: mutual, where the parent is known by the path in its
 * certificate and not by its host name; or up to whoever terminates TLS on the way, who is known by its host name as everywhere.
 */
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { type Expiry, expiryOfSocket } from '../../identity/expiry.ts';
import { identityOfPeer, type PeerIdentity } from '../../identity/peer-identity.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { type NodeCredentials, perCredentials } from '../node-credentials.ts';

/** Both ends are nodes of Banyan: there is no older one to be kind to. */
export const tlsVersionMin = 'TLSv1.3';
/** Load balancers and interceptors are often older. */
const terminatorVersionMin = 'TLSv1.2';

export interface SecureConnection {
  readonly socket: TLSSocket;
  readonly peer: PeerIdentity;
  readonly expiry: Expiry | undefined;
}

/** What is trusted, for all dials of a node. */
export interface Trust {
  /** For the next connection: certificates are renewed while a node runs. */
  context(): SecureContext;
  /** The certificate has to name the host that was dialed; those of the tree name nodes. */
  readonly byHost: boolean;
  /** Throws Unauthorized. */
  peerOf(socket: TLSSocket): PeerIdentity;
}

/** `check` returns why a node of the tree is not the one that was meant. */
export function trustInTree(
  credentials: NodeCredentials,
  check: (peer: PeerIdentity) => BanyanError | undefined,
): Trust {
  return {
    context: perCredentials(credentials, ({ caPem, certPem, keyPem }) =>
      createSecureContext({ ca: caPem, cert: certPem, key: keyPem, minVersion: tlsVersionMin }),
    ),
    byHost: false,
    peerOf: (socket) => checkedIn(socket, check),
  };
}

/** Of a node that has no certificate yet: the parent is known as in the tree, and learns nothing of the child. */
export function trustInAuthority(caPem: string, check: (peer: PeerIdentity) => BanyanError | undefined): Trust {
  const context = createSecureContext({ ca: caPem, minVersion: tlsVersionMin });
  return { context: () => context, byHost: false, peerOf: (socket) => checkedIn(socket, check) };
}

/** Of a node that does not know the authority yet. What comes over such a connection is believed for reasons of its own, and nothing that matters is said. */
export function trustInNobody(parent: PeerIdentity): Trust {
  const context = createSecureContext({ minVersion: tlsVersionMin });
  return { context: () => context, byHost: false, peerOf: () => parent };
}

/** The child shows no certificate there, since it could prove nothing by it. `parent`: whom it will have to prove to be behind it. */
export function trustInTerminator(caPem: Buffer | undefined, parent: PeerIdentity, shown: string): Trust {
  const context = createSecureContext({ ...(caPem ? { ca: caPem } : {}), minVersion: terminatorVersionMin });
  return {
    context: () => context,
    byHost: true,
    peerOf(socket) {
      if (socket.authorized) return parent;
      const why = `the certificate of who terminates TLS at ${shown} is not accepted (${String(socket.authorizationError)})`;
      throw new BanyanError(
        'Unauthorized',
        `${why}: name its authority in link.ca, and the host that it was issued for`,
      );
    },
  };
}

export async function secureConnection(
  tcp: Socket,
  host: string,
  trust: Trust,
  alpnProtocols: readonly string[],
): Promise<SecureConnection> {
  const socket = connect({
    socket: tcp,
    host,
    secureContext: trust.context(),
    ALPNProtocols: [...alpnProtocols],
    // SNI takes no addresses (RFC 6066, section 3).
    ...(isIP(host) ? {} : { servername: host }),
    // Looked at below, so that a refusal can be told in words.
    rejectUnauthorized: false,
    ...(trust.byHost ? {} : { checkServerIdentity: () => undefined }),
  });
  await new Promise<void>((resolve, reject) => {
    const closed = () => reject(new BanyanError('Unavailable', 'the connection was closed during the TLS handshake'));
    socket.once('secureConnect', resolve);
    socket.once('error', (error) => reject(noProtocol(error, alpnProtocols)));
    socket.once('close', closed);
  });
  try {
    return { socket, peer: trust.peerOf(socket), expiry: expiryOfSocket(socket) };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function checkedIn(socket: TLSSocket, check: (peer: PeerIdentity) => BanyanError | undefined): PeerIdentity {
  const peer = treeIdentity(socket);
  const refusal = check(peer);
  if (refusal) throw refusal;
  return peer;
}

function treeIdentity(socket: TLSSocket): PeerIdentity {
  try {
    return identityOfPeer(socket);
  } catch (cause) {
    if (!(cause instanceof BanyanError)) throw cause;
    throw new BanyanError(cause.code, `the parent's certificate is not accepted: ${cause.message}`, {}, { cause });
  }
}

/** A gateway that speaks no HTTP/2 may say so already in the handshake (RFC 7301, section 3.2). */
function noProtocol(error: Error, alpnProtocols: readonly string[]): Error {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') return error;
  const words = `who answers there speaks none of ${alpnProtocols.join(', ')}`;
  return new BanyanError('Protocol', `${words}: use the transport websocket or auto`, {}, { cause: error });
}
