/**
 * Relays may sign certificates. For this purpose, a relay has an issuer: a certificate between the tree's authority and the certificates that the relay signs.
 * The name of an issuer limits what the issuer may sign. There are two kinds:
 *
 * - An issuer of agents signs the agents directly below its node, and nothing else: `OU=banyan-issuer, CN=spiffe://TREE/node/relay/eu`.
 * - An issuer of a subtree signs every node below its node, and the issuers of the subtrees of relays below: `OU=below-banyan-issuer, CN=…`.
 *
 * Each certificate contains the name of its issuer, and every verifier of a chain checks that this name is the same as in the issuer's own certificate. So
 * each certificate of a chain shows whether its issuer was allowed to sign it. A verifier asks this for every certificate of the chain, not only for the leaf:
 * the issuer of `us` could sign an issuer of `eu`, and this issuer would be allowed to sign nodes below `eu`.
 */
import type { X509Certificate } from 'node:crypto';
import { isBelow, parentOf } from './node-path.ts';

/**
 * Marks a name as the name of an issuer. Verifiers ignore the case of names and the spaces around them. So every name that contains this text, in any case,
 * counts as the name of an issuer. The text contains no space.
 */
export const issuerUnit = 'banyan-issuer';
/**
 * The unit in the name of an issuer of a subtree, and of everything that such an issuer signs. It contains `issuerUnit`, so a node of an older version, which
 * does not know this kind, refuses what such an issuer has signed.
 */
export const subtreeUnit = 'below-banyan-issuer';

/** The name of an issuer as node:crypto writes it. In the name of a relay, each part of the path has a slash before it, as in identities. */
const written = new RegExp(
  `^OU=(${issuerUnit}|${subtreeUnit})\\nCN=(spiffe://([^/\\s\\\\]+)/node/(?:center|relay(/[^\\s\\\\]+)))$`,
);

export interface Issuer {
  readonly signs: 'agents' | 'subtree';
  /** The identity of the node that has the issuer. */
  readonly id: string;
  readonly tree: string;
  readonly path: string;
}

/** `text`: absent for an empty name, although the types of Node declare the name as present. */
function read(text: string | undefined): Issuer | undefined {
  const [, unit, id, tree, below = ''] = written.exec(text ?? '') ?? [];
  if (id === undefined || tree === undefined) return undefined;
  return { signs: unit === subtreeUnit ? 'subtree' : 'agents', id, tree, path: below.slice(1).replaceAll('/', ':') };
}

/** True if an issuer signed the certificate; false if the authority itself did. */
export function isFromIssuer({ issuer }: { readonly issuer: string | undefined }): boolean {
  return (issuer ?? '').toLowerCase().includes(issuerUnit);
}

/** Reads, from an issuer's own certificate, which node has this issuer. Undefined if the certificate is not of an issuer. */
export function issuerIn({ subject }: Pick<X509Certificate, 'subject'>): Issuer | undefined {
  return read(subject);
}

/** The reason why the issuer must not sign a certificate with this identity. Undefined if the issuer may sign it, or if the authority itself signed it. */
export function notForItsIssuer(certificate: Pick<X509Certificate, 'issuer'>, id: string): string | undefined {
  return judged(certificate, (issuer) => {
    const name = `spiffe://${issuer.tree}/node/`;
    const [role = '', ...names] = id.startsWith(name) ? id.slice(name.length).split('/') : [];
    const path = names.join(':');
    if (issuer.signs === 'agents') {
      const isChild = path !== '' && parentOf(path) === issuer.path;
      return role === 'agent' && isChild ? undefined : 'which may sign only agents directly below that node';
    }
    return isBelow(path, issuer.path) ? undefined : 'which may sign only nodes below that node';
  });
}

/**
 * The reason why the certificate between a leaf and the authority does not count. Undefined if it counts: the authority itself signed it, or it is the issuer
 * of a relay below the relay whose issuer signed it.
 */
export function notAnIssuerBelow(certificate: Pick<X509Certificate, 'issuer' | 'subject'>): string | undefined {
  return judged(certificate, (issuer) => {
    if (issuer.signs === 'agents') return 'which may not sign another authority';
    const signed = issuerIn(certificate);
    const isAllowed = signed?.signs === 'subtree' && signed.tree === issuer.tree && isBelow(signed.path, issuer.path);
    return isAllowed ? undefined : 'which may sign no other authority than issuers of relays below that node';
  });
}

/** `limit` returns the end of the sentence, if the issuer was not allowed to sign the certificate. */
function judged(
  certificate: Pick<X509Certificate, 'issuer'>,
  limit: (issuer: Issuer) => string | undefined,
): string | undefined {
  if (!isFromIssuer(certificate)) return undefined;
  const issuer = read(certificate.issuer);
  if (!issuer)
    return `the name of its issuer is not that of a relay's issuer: ${certificate.issuer.replaceAll('\n', ', ')}`;
  const why = limit(issuer);
  return why && `it was signed by the issuer of ${issuer.id}, ${why}`;
}
