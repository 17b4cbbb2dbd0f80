/**
 * TLS from the child to its parent. The child checks the peer before it sends anything, and reports the reason of a refusal. There are two cases. Either
 * TLS is mutual and ends at the parent: the child identifies the parent by the path in its certificate, not by its host name. Or TLS ends at a gateway
 * before the parent: the child identifies the gateway by its host name, as usual for TLS.
 */
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { type Expiry, expiryOfSocket } from '../../identity/expiry.ts';
import { identityOfPeer } from '../../identity/peer-chain.ts';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { currentOf, type NodeCredentials, perCredentials } from '../node-credentials.ts';

/** Both ends are Banyan nodes, so they need not support older versions. */
export const tlsVersionMin = 'TLSv1.3';
/** Load balancers and TLS interceptors often support only older versions. */
const terminatorVersionMin = 'TLSv1.2';

export interface SecureConnection {
  readonly socket: TLSSocket;
  readonly peer: PeerIdentity;
  readonly expiry: Expiry | undefined;
}

/** Decides, for all dials of a node, which peers the node trusts. */
export interface Trust {
  /** The TLS context for the next connection. It may change, because certificates are renewed while a node runs. */
  context(): SecureContext;
  /** True: the certificate must contain the name of the dialed host. False: the certificate is one of the tree and contains the name of a node. */
  readonly byHost: boolean;
  /** The identity of the peer. Throws Unauthorized if the node does not trust the peer. */
  peerOf(socket: TLSSocket): PeerIdentity;
}

/** Trust in nodes of the tree. `check` returns why a node of the tree is not the expected node. */
export function trustInTree(
  credentials: NodeCredentials,
  check: (peer: PeerIdentity) => BanyanError | undefined,
): Trust {
  return {
    context: perCredentials(credentials, ({ caPem, certPem, keyPem }) =>
      createSecureContext({ ca: caPem, cert: certPem, key: keyPem, minVersion: tlsVersionMin }),
    ),
    byHost: false,
    peerOf: (socket) => checkedIn(socket, currentOf(credentials).caPem, check),
  };
}

/** Trust for a node that has no certificate yet. The node identifies the parent as a node of the tree. The parent learns nothing about the child. */
export function trustInAuthority(caPem: Buffer, check: (peer: PeerIdentity) => BanyanError | undefined): Trust {
  const context = createSecureContext({ ca: caPem, minVersion: tlsVersionMin });
  return { context: () => context, byHost: false, peerOf: (socket) => checkedIn(socket, caPem, check) };
}

/**
 * Trust for a node that does not know the authority yet. The node must check in another way everything that it receives over such a connection, and must
 * not send anything confidential.
 */
export function trustInNobody(parent: PeerIdentity): Trust {
  const context = createSecureContext({ minVersion: tlsVersionMin });
  return { context: () => context, byHost: false, peerOf: () => parent };
}

/**
 * Trust in a gateway that terminates TLS. The child shows no certificate to the gateway, because the certificate would prove nothing to the parent.
 * `parent` is the node behind the gateway. The parent must prove its identity afterwards.
 */
export function trustInTerminator(caPem: Buffer | undefined, parent: PeerIdentity, shown: string): Trust {
  const context = createSecureContext({ ...(caPem ? { ca: caPem } : {}), minVersion: terminatorVersionMin });
  return {
    context: () => context,
    byHost: true,
    peerOf(socket) {
      if (socket.authorized) return parent;
      const why = `the certificate of the gateway that terminates TLS at ${shown} is not accepted (${String(socket.authorizationError)})`;
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
    // SNI does not allow addresses (RFC 6066, section 3).
    ...(isIP(host) ? {} : { servername: host }),
    // This code checks the certificate itself after the handshake, so that the error has the reason of a refusal.
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

function checkedIn(
  socket: TLSSocket,
  caPem: Buffer,
  check: (peer: PeerIdentity) => BanyanError | undefined,
): PeerIdentity {
  const peer = treeIdentity(socket, caPem);
  const refusal = check(peer);
  if (refusal) throw refusal;
  return peer;
}

function treeIdentity(socket: TLSSocket, caPem: Buffer): PeerIdentity {
  try {
    return identityOfPeer(socket, { caPem, usage: 'server' });
  } catch (cause) {
    if (!(cause instanceof BanyanError)) throw cause;
    throw new BanyanError(cause.code, `the parent's certificate is not accepted: ${cause.message}`, {}, { cause });
  }
}

/** The error of a handshake. A gateway without HTTP/2 may end the handshake (RFC 7301, section 3.2). */
function noProtocol(error: Error, alpnProtocols: readonly string[]): Error {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') return error;
  const reason = `the server there supports none of ${alpnProtocols.join(', ')}`;
  return new BanyanError('Protocol', `${reason}: use the transport websocket or auto`, {}, { cause: error });
}
