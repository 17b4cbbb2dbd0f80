/** Until when the certificates of both ends of a link are valid. TLS asks only once, in its handshake; a session may outlive them. */
import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

/** When a link's certificates are no longer all valid. */
export interface Expiry {
  /** Wall time. */
  readonly atMs: number;
  /** Which one, and what to do. */
  readonly words: string;
}

type Dated = Pick<X509Certificate, 'subject' | 'subjectAltName' | 'validTo'>;

/** The first of the two to end, which says what has to be renewed. Undefined: neither is known. */
export function firstExpiry(own: Dated | undefined, peer: Dated | undefined): Expiry | undefined {
  const both = [
    own && expiryOf(own, 'this node renews it by new files'),
    peer && expiryOf(peer, 'the other end has to renew it'),
  ];
  return both.filter((one) => one !== undefined).sort((a, b) => a.atMs - b.atMs)[0];
}

/** Of a connection whose handshake is done. */
export function expiryOfSocket(
  socket: Pick<TLSSocket, 'getX509Certificate' | 'getPeerX509Certificate'>,
): Expiry | undefined {
  return firstExpiry(socket.getX509Certificate(), socket.getPeerX509Certificate());
}

/** Of certificates that came outside of TLS, the holder's own first, and have been judged already. */
export function expiryOfChains(own: readonly Uint8Array[], peer: readonly Uint8Array[]): Expiry | undefined {
  const leaf = ([der]: readonly Uint8Array[]) => (der ? new X509Certificate(der) : undefined);
  return firstExpiry(leaf(own), leaf(peer));
}

function expiryOf({ subject, subjectAltName, validTo }: Dated, remedy: string): Expiry {
  const uri = subjectAltName?.split(', ').find((name) => name.startsWith('URI:'));
  return {
    // Node 20 has it as text alone.
    atMs: Date.parse(validTo),
    words: `the certificate ${uri?.slice(4) ?? subject} expired on ${validTo}: ${remedy}`,
  };
}
