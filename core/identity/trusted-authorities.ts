/**
 * The authorities of nodes that a node trusts, and how a new one comes to them while the tree runs.
 *
 * Authorities travel as one bundle: PEM with the authorities, the one in use first, and with the introductions of new ones. An introduction is a certificate for
 * the name and the key of the new authority, signed by an authority that a node trusts already. So no node has to believe the node that brings the bundle: a
 * relay can't make an introduction. Whoever trusts the former authority trusts the new one already, as an authority between; the bundle makes the new one
 * independent of the former one.
 */
import type { X509Certificate } from 'node:crypto';
import { isIssuedBy, pathUp } from './certificate-chain.ts';
import { authorityId } from './peer-identity.ts';
import { certificatesIn } from './pem-certificates.ts';

/**
 * A change needs two authorities. The third one is for the case that the key of the new authority is lost, or stolen, before the change has ended. Every
 * handshake tries the authorities one after the other, and every session that begins carries the bundle once.
 */
export const authoritiesMax = 3;
/** An authority of Banyan has 0.7 KB as PEM; one of a company may have 4 KB. */
export const bundleBytesMax = 32 * 1024;

/**
 * The unit in the name of an authority that another one may introduce. No other certificate that an authority signs has this name: a relay's issuer and the
 * sub-authority of a company have a key and a certificate too, and would otherwise pass for an introduction of themselves.
 */
export const authorityUnit = 'banyan-authority';
const introducible = new RegExp(`^OU=${authorityUnit}\\nCN=[^\\n]+$`);

export interface Judged {
  /** In the order of the bundle. Empty: the whole bundle was refused. */
  readonly authorities: readonly X509Certificate[];
  /** Why an authority of the bundle, or the whole bundle, is not trusted. */
  readonly refused: readonly string[];
}

/** Which authorities of the bundle a node trusts from now on, if it has trusted `trusted` until now. */
export function judgeBundle(trusted: readonly X509Certificate[], bundle: string): Judged {
  const read = readBundle(bundle);
  if ('flaw' in read) return { authorities: [], refused: [read.flaw] };
  const known = new Set(trusted.map(({ fingerprint256 }) => fingerprint256));
  const sources = [...trusted];
  let waiting = read.authorities.filter((one) => !known.has(one.fingerprint256));
  for (let introduced = waiting; introduced.length > 0; ) {
    introduced = waiting.filter((one) => read.introductions.some((by) => introduces(by, one, sources)));
    sources.push(...introduced);
    waiting = waiting.filter((one) => !introduced.includes(one));
  }
  const refused = waiting.map(
    (one) => `${nameOf(one)} is not introduced by an authority that is trusted here: ${idsOf(trusted)}`,
  );
  return { authorities: read.authorities.filter((one) => !waiting.includes(one)), refused };
}

export interface Bundle {
  readonly authorities: readonly X509Certificate[];
  readonly introductions: readonly X509Certificate[];
}

/** `flaw`: why the bundle can't be used. */
export function readBundle(bundle: string): Bundle | { readonly flaw: string } {
  if (bundle.length > bundleBytesMax)
    return { flaw: `a bundle of ${bundle.length} bytes; at most ${bundleBytesMax} are read` };
  let certificates: X509Certificate[];
  try {
    certificates = certificatesIn(bundle);
  } catch {
    return { flaw: 'a certificate of the bundle can not be read' };
  }
  const authorities = certificates.filter(isAuthority);
  const introductions = certificates.filter((one) => !isAuthority(one));
  if (authorities.length === 0) return { flaw: 'the bundle has no authority: no certificate in it has signed itself' };
  if (authorities.length > authoritiesMax)
    return { flaw: `${authorities.length} authorities; a tree has at most ${authoritiesMax}: drop one first` };
  if (introductions.length > authoritiesMax)
    return { flaw: `${introductions.length} introductions; at most ${authoritiesMax} are read` };
  return { authorities, introductions };
}

export function bundleOf({ authorities, introductions }: Bundle): string {
  return bundlePem([...authorities, ...introductions]);
}

export function bundlePem(certificates: readonly X509Certificate[]): string {
  return certificates.map((one) => `${one.toString().trim()}\n`).join('');
}

/** The id of the authority to which the chain leads. `chainPem`: the leaf, then the certificates above. Undefined: the chain leads to none of them. */
export function authorityOfChain(
  chainPem: Buffer | string,
  authorities: readonly X509Certificate[],
): string | undefined {
  const found = pathUp(certificatesIn(chainPem), authorities);
  return found && authorityId(found.authority);
}

function nameOf(authority: X509Certificate): string {
  return `the authority ${authorityId(authority)} (${authority.subject.replaceAll('\n', ', ')})`;
}

function idsOf(authorities: readonly X509Certificate[]): string {
  return authorities.map(authorityId).join(', ');
}

function isAuthority(one: X509Certificate): boolean {
  return one.ca && isIssuedBy(one, one);
}

function introduces(by: X509Certificate, authority: X509Certificate, sources: readonly X509Certificate[]): boolean {
  return (
    by.ca &&
    by.subject === authority.subject &&
    introducible.test(by.subject) &&
    by.publicKey.equals(authority.publicKey) &&
    sources.some((source) => isIssuedBy(by, source))
  );
}
