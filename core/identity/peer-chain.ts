/** The identity of the node at the other end, from the whole chain of its certificates. */
import type { TLSSocket } from 'node:tls';
import { BanyanError } from '../runtime/errors.ts';
import { type ChainTrust, sentChain, type TrustedPath, trustedPath } from './certificate-chain.ts';
import { issuerIn } from './issuer-name.ts';
import {
  authorityId,
  certificateIn,
  describeMistrust,
  identityOfCertificate,
  type PeerIdentity,
} from './peer-identity.ts';

/**
 * The identity of the node at the other end of a connection. The TLS handshake accepts every certificate (`rejectUnauthorized: false`). So this function
 * can refuse a wrong certificate with a helpful message. Throws Unauthorized.
 */
export function identityOfPeer(
  socket: Pick<TLSSocket, 'authorized' | 'authorizationError' | 'getPeerX509Certificate'>,
  trust: Pick<ChainTrust, 'caPem' | 'usage'>,
): PeerIdentity {
  const certificate = socket.getPeerX509Certificate();
  if (!certificate)
    throw new BanyanError('Unauthorized', 'no certificate was presented; a node needs one of this tree');
  if (!socket.authorized) {
    throw new BanyanError('Unauthorized', describeMistrust(certificate, String(socket.authorizationError)));
  }
  return identityOfChain(sentChain(socket), trust);
}

/** The identity of the holder of the first certificate. Throws Unauthorized with the mistake in the chain. */
export function identityOfChain(ders: readonly Uint8Array[], trust: ChainTrust): PeerIdentity {
  return identityOfPath(trustedPath(ders, trust));
}

export function identityOfPath({ path: [leaf, ...issuers], authority }: TrustedPath): PeerIdentity {
  const identity = identityOfCertificate(leaf!.raw);
  const signers = issuers.flatMap((one) => {
    const issuer = issuerIn(one);
    return issuer ? [{ path: issuer.path, ...certificateIn(one) }] : [];
  });
  const signed = signers.length === 0 ? {} : { signers };
  return { ...identity, certificate: { ...identity.certificate!, authority: authorityId(authority), ...signed } };
}
