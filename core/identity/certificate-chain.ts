/**
 * Verifies a chain of certificates. The checks are those of TLS (a path up to a trusted authority, the dates, and the use), and that each issuer of a relay
 * was allowed to sign what it has signed. TLS can't check the latter: name constraints look at the host of a URI alone, and the path of a node stands behind it.
 * So a node verifies every chain with this file, also a chain that TLS has accepted.
 */
import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { notAnIssuerBelow } from './issuer-name.ts';
import { describeMistrust } from './peer-identity.ts';
import { authoritiesIn } from './pem-certificates.ts';

/** https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.12 */
export const usages = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1' } as const;

/** Issuers of relays between the authority and a leaf. Each relay that joined with a token adds one of them to the chains of its subtree. */
export const subtreeIssuersMax = 9;
/**
 * Maximal length of a chain: the leaf, the issuers, and the introduction of a new authority by the former one (trusted-authorities.ts). A chain of this length
 * has 9 KB, which every TLS handshake sends.
 */
export const chainMax = subtreeIssuersMax + 2;
/** A certificate of a Banyan authority has about one kilobyte. A certificate of a company's authority is somewhat larger. */
const certificateBytesMax = 16 * 1024;
/** The certificates of a chain together: less than a peer may send before it has proven who it is. */
const chainBytesMax = 64 * 1024;

export interface ChainTrust {
  /** The trusted authorities, as PEM. */
  readonly caPem: Buffer;
  /** Absent: TLS has checked the dates. */
  readonly wallMs?: number;
  readonly usage: keyof typeof usages;
}

/** The certificates from a leaf up to the one that the authority has signed, and the authority. */
export interface TrustedPath {
  readonly path: readonly X509Certificate[];
  readonly authority: X509Certificate;
}

/** Verifies the chain. The holder's own certificate must be the first one. Throws Unauthorized with the mistake. */
export function trustedPath(ders: readonly Uint8Array[], { caPem, wallMs, usage }: ChainTrust): TrustedPath {
  if (ders.length === 0) throw unauthorized('no certificate was presented; a node needs one of this tree');
  if (ders.length > chainMax)
    throw unauthorized(`${ders.length} certificates were presented; at most ${chainMax} are read`);
  const bytes = ders.reduce((sum, der) => sum + der.length, 0);
  if (bytes > chainBytesMax) throw unauthorized(`certificates of ${bytes} bytes; at most ${chainBytesMax} are read`);
  const chain = ders.map(certificateOf) as [X509Certificate, ...X509Certificate[]];
  const [leaf] = chain;
  if (leaf.ca) throw unauthorized(`${shown(leaf)} is the certificate of an authority, and not of a node or a user`);
  const found = pathUp(chain, authoritiesIn(caPem));
  if (!found) throw unauthorized(describeMistrust(leaf, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'));
  const { path, authority } = found;
  for (const issuer of path.slice(1)) {
    const wrong = notAnIssuerBelow(issuer);
    if (wrong) throw unauthorized(`the certificate of the authority ${shown(issuer)} does not count: ${wrong}`);
  }
  if (wallMs !== undefined) for (const certificate of [...path, authority]) checkDates(certificate, wallMs);
  // The key usage may be absent at run time, although the types of Node declare it as present.
  const allowed: readonly string[] | undefined = leaf.keyUsage;
  if (!allowed?.includes(usages[usage])) {
    throw unauthorized(`the certificate ${leaf.subjectAltName ?? leaf.subject} is not for the use as a ${usage}`);
  }
  return found;
}

function checkDates(certificate: X509Certificate, wallMs: number): void {
  // Node 20 gives the dates only as text.
  if (wallMs > Date.parse(certificate.validTo)) throw unauthorized(describeMistrust(certificate, 'CERT_HAS_EXPIRED'));
  if (wallMs < Date.parse(certificate.validFrom)) {
    throw unauthorized(describeMistrust(certificate, 'CERT_NOT_YET_VALID'));
  }
}

type PeerSocket = Pick<TLSSocket, 'getPeerX509Certificate'>;

/** The certificates that the other end of a connection has sent, its own first. `max`: one more is enough for a refusal, and no further one is read. */
export function sentChain(socket: PeerSocket, max = chainMax): Buffer[] {
  const sent: Buffer[] = [];
  for (let at = socket.getPeerX509Certificate(); at && sent.length <= max; at = at.issuerCertificate) sent.push(at.raw);
  return sent;
}

/**
 * The way from the first certificate, through the others in any order, to an authority: the certificates up to the one that the authority has signed, and the
 * authority. Checks signatures, and no dates. Undefined: no way leads to an authority. Each step removes one certificate from the list, so the loop ends.
 */
export function pathUp(
  [leaf, ...between]: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): TrustedPath | undefined {
  const path: X509Certificate[] = [];
  let unused = between;
  for (let at = leaf; at; ) {
    const below = at;
    path.push(below);
    const authority = authorities.find((one) => isIssuedBy(below, one));
    if (authority) return { path, authority };
    at = unused.find((one) => one.ca && isIssuedBy(below, one));
    unused = unused.filter((one) => one !== at);
  }
  return undefined;
}

/** Checks names and signature, and no dates. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
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

/** The subject is absent for an empty name, although the types of Node declare it as present. */
function shown({ subject }: { readonly subject: string | undefined }): string {
  return subject?.replaceAll('\n', ', ') ?? 'without a name';
}

function unauthorized(message: string): BanyanError {
  return new BanyanError('Unauthorized', message);
}
