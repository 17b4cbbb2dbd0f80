/**
 * A relay may sign certificates of the agents right below it, with a certificate of its own between these and the tree's authority: its issuer. What an issuer
 * may sign stands in its name, and whoever verifies a chain compares that name with the issuer's name in the leaf, so that the leaf alone says whether it may be.
 */
import type { X509Certificate } from 'node:crypto';

/** Verifiers compare names without regard to case and to space around them, so whatever has this in it in any form is taken for an issuer's. No space in it. */
export const issuerUnit = 'banyan-issuer';

/** As node:crypto writes names. Of a relay, the path has a slash before each part, as in identities. */
const written = new RegExp(`^OU=${issuerUnit}\\nCN=(spiffe://([^/\\s\\\\]+)/node/(?:center|relay(/[^\\s\\\\]+)))$`);

function read(text: string): { readonly name: string; readonly tree: string; readonly below: string } | undefined {
  const [, name, tree, below = ''] = written.exec(text) ?? [];
  return name === undefined || tree === undefined ? undefined : { name, tree, below };
}

/** Whether an issuer has signed it, and not the authority itself. */
export function isFromIssuer({ issuer }: Pick<X509Certificate, 'issuer'>): boolean {
  return issuer.toLowerCase().includes(issuerUnit);
}

/** Whose issuer this is, by its own certificate; undefined: it is none. */
export function issuerIn({ subject }: Pick<X509Certificate, 'subject'>): { tree: string; path: string } | undefined {
  const own = read(subject);
  return own && { tree: own.tree, path: own.below.slice(1).replaceAll('/', ':') };
}

/** Why a certificate with this identity is not the issuer's to sign; undefined: it is, or the authority has signed it. */
export function notForItsIssuer(certificate: Pick<X509Certificate, 'issuer'>, id: string): string | undefined {
  if (!isFromIssuer(certificate)) return undefined;
  const issuer = read(certificate.issuer);
  if (!issuer) return `its issuer has no name of an issuer: ${certificate.issuer.replaceAll('\n', ', ')}`;
  const above = `spiffe://${issuer.tree}/node/agent${issuer.below}/`;
  const name = id.startsWith(above) ? id.slice(above.length) : '';
  if (name !== '' && !name.includes('/')) return undefined;
  return `it was signed by the issuer of ${issuer.name}, which signs only agents right below that`;
}
