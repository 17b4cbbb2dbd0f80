/**
 * A relay may sign certificates of the agents directly below it. For this purpose, the relay has an issuer: a certificate between the tree's authority and
 * the agents' certificates. The name of an issuer limits what the issuer may sign. Each leaf contains the name of its issuer, and every verifier of a chain
 * checks that this name is the same as in the issuer's own certificate. So the leaf alone shows whether its issuer was allowed to sign it.
 */
import type { X509Certificate } from 'node:crypto';

/**
 * Marks a name as the name of an issuer. Verifiers ignore the case of names and the spaces around them. So every name that contains this text, in any case,
 * counts as the name of an issuer. The text contains no space.
 */
export const issuerUnit = 'banyan-issuer';

/** The name of an issuer as node:crypto writes it. In the name of a relay, each part of the path has a slash before it, as in identities. */
const written = new RegExp(`^OU=${issuerUnit}\\nCN=(spiffe://([^/\\s\\\\]+)/node/(?:center|relay(/[^\\s\\\\]+)))$`);

function read(text: string): { readonly name: string; readonly tree: string; readonly below: string } | undefined {
  const [, name, tree, below = ''] = written.exec(text) ?? [];
  return name === undefined || tree === undefined ? undefined : { name, tree, below };
}

/** True if an issuer signed the certificate; false if the authority itself did. */
export function isFromIssuer({ issuer }: Pick<X509Certificate, 'issuer'>): boolean {
  return issuer.toLowerCase().includes(issuerUnit);
}

/** Reads, from an issuer's own certificate, which node has this issuer. Undefined if the certificate is not of an issuer. */
export function issuerIn({ subject }: Pick<X509Certificate, 'subject'>): { tree: string; path: string } | undefined {
  const issuer = read(subject);
  return issuer && { tree: issuer.tree, path: issuer.below.slice(1).replaceAll('/', ':') };
}

/** The reason why the issuer must not sign a certificate with this identity. Undefined if the issuer may sign it, or if the authority itself signed it. */
export function notForItsIssuer(certificate: Pick<X509Certificate, 'issuer'>, id: string): string | undefined {
  if (!isFromIssuer(certificate)) return undefined;
  const issuer = read(certificate.issuer);
  if (!issuer)
    return `the name of its issuer is not that of a relay's issuer: ${certificate.issuer.replaceAll('\n', ', ')}`;
  const above = `spiffe://${issuer.tree}/node/agent${issuer.below}/`;
  const name = id.startsWith(above) ? id.slice(above.length) : '';
  if (name !== '' && !name.includes('/')) return undefined;
  return `it was signed by the issuer of ${issuer.name}, which may sign only agents directly below that node`;
}
