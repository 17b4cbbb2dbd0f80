/**
 * Verifies a chain of certificates that was received outside of TLS. The checks are those of TLS: a path up to a trusted authority, the dates, and the use.
 */
import { X509Certificate } from 'node:crypto';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { isFromIssuer } from './issuer-name.ts';
import { describeMistrust } from './peer-identity.ts';

/** https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.12 */
export const usages = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1' } as const;

/**
 * Maximal length of a chain: the leaf and the certificates between the leaf and the authority. The chains of a Banyan authority have only a leaf and an
 * issuer.
 */
const chainMax = 5;
/** A certificate of a Banyan authority has less than one kilobyte. A certificate of a company's authority is somewhat larger. */
const certificateBytesMax = 16 * 1024;

const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** Verifies the chain and returns its first certificate, which must be the holder's own. Throws Unauthorized with the mistake. */
export function trustedLeaf(
  ders: readonly Uint8Array[],
  { caPem, wallMs, usage }: { readonly caPem: Buffer; readonly wallMs: number; readonly usage: keyof typeof usages },
): X509Certificate {
  if (ders.length === 0) throw unauthorized('no certificate was presented; a node needs one of this tree');
  if (ders.length > chainMax)
    throw unauthorized(`${ders.length} certificates were presented; at most ${chainMax} are read`);
  const [leaf, ...between] = ders.map(certificateOf) as [X509Certificate, ...X509Certificate[]];
  const authorities = (caPem.toString('latin1').match(pemBlock) ?? []).map((pem) => new X509Certificate(pem));
  const above = pathUp(leaf, between, authorities);
  // An issuer may not sign another issuer. TLS enforces this rule through the path length in the issuer's certificate.
  if (above.some(isFromIssuer))
    throw unauthorized('an issuer of a relay has signed another authority, which it may not');
  for (const certificate of [leaf, ...above]) {
    // Node 20 gives the dates only as text.
    if (wallMs > Date.parse(certificate.validTo)) throw unauthorized(describeMistrust(certificate, 'CERT_HAS_EXPIRED'));
    if (wallMs < Date.parse(certificate.validFrom)) {
      throw unauthorized(describeMistrust(certificate, 'CERT_NOT_YET_VALID'));
    }
  }
  // The key usage may be absent at run time, although the types of Node declare it as present.
  const allowed: readonly string[] | undefined = leaf.keyUsage;
  if (!allowed?.includes(usages[usage])) {
    throw unauthorized(`the certificate ${leaf.subjectAltName ?? leaf.subject} is not for the use as a ${usage}`);
  }
  return leaf;
}

/** The certificates from the leaf's issuer up to the authority. Each step removes one certificate from the list, so the loop ends. */
function pathUp(
  leaf: X509Certificate,
  between: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): X509Certificate[] {
  const path: X509Certificate[] = [];
  let unused = between;
  for (let at = leaf; ; ) {
    const authority = authorities.find((one) => isIssuedBy(at, one));
    if (authority) return [...path, authority];
    const next = unused.find((one) => one.ca && isIssuedBy(at, one));
    if (!next) throw unauthorized(describeMistrust(leaf, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'));
    unused = unused.filter((one) => one !== next);
    path.push(next);
    at = next;
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function certificateOf(der: Uint8Array): X509Certificate {
  if (der.length > certificateBytesMax) {
    throw unauthorized(`a certificate of ${der.length} bytes; at most ${certificateBytesMax} are read`);
  }
  try {
    return new X509Certificate(der);
  } catch (cause) {
    const message = `the presented bytes are no certificate: ${describeError(cause)}`;
    throw new BanyanError('Unauthorized', message, {}, { cause });
  }
}

function unauthorized(message: string): BanyanError {
  return new BanyanError('Unauthorized', message);
}
