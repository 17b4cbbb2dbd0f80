/**
 * A relay may sign certificates of the agents directly below it. For this it has an issuer: a certificate between the tree's authority and the agents'
 * certificates. The name of an issuer says what it may sign. Every verifier of a chain checks that the leaf names its issuer as the issuer's own
 * certificate does. So the leaf alone shows whether its issuer was allowed to sign it.
 */
import type { X509Certificate } from 'node:crypto';

/**
 * Verifiers ignore the case of names and the space around them. So every name that contains this text, in any case, counts as the name of an issuer.
 * The text contains no space.
 */
export const issuerUnit = 'banyan-issuer';

/** The form in which node:crypto writes names. In the name of a relay, a slash stands before each part of the path, as in identities. */
const written = new RegExp(`^OU=${issuerUnit}\\nCN=(spiffe://([^/\\s\\\\]+)/node/(?:center|relay(/[^\\s\\\\]+)))$`);

function read(text: string): { readonly name: string; readonly tree: string; readonly below: string } | undefined {
  const [, name, tree, below = ''] = written.exec(text) ?? [];
  return name === undefined || tree === undefined ? undefined : { name, tree, below };
}

/** True if an issuer signed the certificate; false if the authority itself did. */
export function isFromIssuer({ issuer }: Pick<X509Certificate, 'issuer'>): boolean {
  return issuer.toLowerCase().includes(issuerUnit);
}

/** The node that has this issuer, by the issuer's own certificate. Undefined if the certificate is not of an issuer. */
export function issuerIn({ subject }: Pick<X509Certificate, 'subject'>): { tree: string; path: string } | undefined {
  const issuer = read(subject);
  return issuer && { tree: issuer.tree, path: issuer.below.slice(1).replaceAll('/', ':') };
}

/** Why the issuer was not allowed to sign a certificate with this identity. Undefined if the issuer was allowed to, or the authority signed it. */
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
