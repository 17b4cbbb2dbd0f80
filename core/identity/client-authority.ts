/**
 * To which of several authorities the certificate of a client leads. TLS has already checked signatures, dates and use, against the authorities of all kinds
 * together. It does not say which of them it has used.
 */
import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import * as z from 'zod';

/**
 * `pki.users` of a configuration. `ca`: the file with the authorities of users. Several at once are possible, so that one can replace another. Absent: the
 * authority of the tree is the one of users too.
 */
export const usersSchema = z.strictObject({ ca: z.string().min(1) });

/** Limit for the certificates between the client's own and the authority. OpenSSL accepts up to 100; companies use two or three. */
const betweenMax = 8;

const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** The certificates in a PEM file, in order. Throws if one can't be read. */
export function certificatesIn(pem: Buffer): X509Certificate[] {
  return (pem.toString('latin1').match(pemBlock) ?? []).map((block) => new X509Certificate(block));
}

/** Whether a path leads from the first certificate, through the others, to one of the authorities. */
export function leadsTo(chain: readonly X509Certificate[], authorities: readonly X509Certificate[]): boolean {
  const [leaf, ...between] = chain;
  if (!leaf) return false;
  const authority = authorities.some((one) => isIssuedBy(leaf, one));
  if (authority) return true;
  const next = between.find((one) => one.ca && isIssuedBy(leaf, one));
  // Each step leaves one certificate out, so the recursion ends.
  return next !== undefined && leadsTo([next, ...between.filter((one) => one !== next)], authorities);
}

/** The certificates that the client has shown: its own, then those between. */
export function shownChain(socket: Pick<TLSSocket, 'getPeerCertificate'>): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let at = socket.getPeerCertificate(true) as { raw?: Buffer; issuerCertificate?: object } | undefined;
  while (at?.raw && chain.length <= betweenMax) {
    chain.push(new X509Certificate(at.raw));
    // The authority at the end of the chain is its own issuer.
    if (at.issuerCertificate === at) break;
    at = at.issuerCertificate as typeof at;
  }
  return chain;
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
