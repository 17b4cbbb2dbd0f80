/**
 * The time until which the certificates of both ends of a link are valid. TLS checks the certificates only in its handshake, and a session may last longer
 * than a certificate.
 */
import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

/** The end of the validity of the link's certificates, and a message. */
export interface Expiry {
  /** The first moment at which one of the link's certificates is no longer valid. Wall time. */
  readonly atMs: number;
  /** A message that names the certificate and the remedy. */
  readonly words: string;
}

type Dated = Pick<X509Certificate, 'subject' | 'subjectAltName' | 'validTo'>;

/** The earlier one of the two expiries, with the certificate to renew. Undefined if neither certificate is known. */
export function firstExpiry(own: Dated | undefined, peer: Dated | undefined): Expiry | undefined {
  const both = [
    own && expiryOf(own, 'put new certificate files in place at this node'),
    peer && expiryOf(peer, 'renew it at the other end'),
  ];
  return both.filter((one) => one !== undefined).sort((a, b) => a.atMs - b.atMs)[0];
}

/** The expiry of a connection after its handshake. */
export function expiryOfSocket(
  socket: Pick<TLSSocket, 'getX509Certificate' | 'getPeerX509Certificate'>,
): Expiry | undefined {
  return firstExpiry(socket.getX509Certificate(), socket.getPeerX509Certificate());
}

/** The expiry of two chains that were received outside of TLS and are already verified. Each chain begins with the certificate of its holder. */
export function expiryOfChains(own: readonly Uint8Array[], peer: readonly Uint8Array[]): Expiry | undefined {
  const leaf = ([der]: readonly Uint8Array[]) => (der ? new X509Certificate(der) : undefined);
  return firstExpiry(leaf(own), leaf(peer));
}

function expiryOf({ subject, subjectAltName, validTo }: Dated, remedy: string): Expiry {
  const uri = subjectAltName?.split(', ').find((name) => name.startsWith('URI:'));
  return {
    // Node 20 gives the date only as text.
    atMs: Date.parse(validTo),
    words: `the certificate ${uri?.slice(4) ?? subject} expired on ${validTo}: ${remedy}`,
  };
}
