/** Makes the parts of a change of the tree's authority: the next authority, its introduction, and the same certificates signed by it. */
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import {
  authorityExtensions,
  authorityMs,
  type Issuing,
  type KeyAndCertificate,
  selfSigned,
  sign,
  unitName,
} from './authority.ts';
import { authorityUnit } from './trusted-authorities.ts';

/** An authority that is to replace the present one of the tree, and its introduction: see trusted-authorities.ts. */
export async function createNextAuthority(
  present: KeyAndCertificate,
  tree: string,
  issuing: Issuing,
): Promise<KeyAndCertificate & { readonly introductionPem: string }> {
  const since = new Date(issuing.clock.wallMs()).toISOString();
  const next = await selfSigned(unitName(authorityUnit, `banyan ${tree} ${since}`), issuing);
  const { subjectName: subject, publicKey } = new x509.X509Certificate(next.certPem);
  const extensions = await authorityExtensions(publicKey);
  const introductionPem = await sign(present, { subject, publicKey, lifeMs: authorityMs, extensions }, issuing);
  return { ...next, introductionPem };
}

/**
 * The same certificate, of the same key and with the same validity, signed by another authority. A revocation of the former certificate counts for the new one,
 * because both begin at the same time.
 */
export function signAgain(authority: KeyAndCertificate, certPem: string, issuing: Issuing): Promise<string> {
  const { subjectName: subject, publicKey, notBefore, notAfter, extensions } = new x509.X509Certificate(certPem);
  const kept = extensions.filter(({ type }) => type !== authorityKeyIdentifierOid);
  return sign(authority, { subject, publicKey, validity: { notBefore, notAfter }, extensions: kept }, issuing);
}

/** https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.1 */
const authorityKeyIdentifierOid = '2.5.29.35';
