/**
 * The certificate authority of a tree: issues certificates for nodes and for users of the API. Only who issues imports this
 * file; reading certificates needs nothing but node:crypto (peer-identity.ts).
 */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { hex } from '../store/bytes.ts';
import type { PeerIdentity } from '../wire/link.ts';
import { spiffeId } from './peer-identity.ts';

x509.cryptoProvider.set(webcrypto as Crypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 86_400_000;
/** The authority outlives every node; renewing it means trusting a new one everywhere. */
const authorityDays = 3650;
/** A local tree has nobody who renews while it runs: `banyan up` issues anew when two thirds have passed. */
export const leafDays = 397;
/** Clocks of other machines may be behind. */
const backdateMs = 3_600_000;

export interface KeyAndCertificate {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface Issuing {
  readonly clock: Clock;
  readonly random: Random;
}

export async function createAuthority(tree: string, { clock, random }: Issuing): Promise<KeyAndCertificate> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(random),
    name: distinguishedName(`banyan ${tree}`),
    ...validity(clock, authorityDays),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      // By these, one authority is told from its successor of the same name.
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certPem: certificate.toString('pem'), keyPem: await exportKey(keys.privateKey) };
}

/** For a node: its SPIFFE identity, and the hosts under which its API is reached. */
export function issueNode(
  authority: KeyAndCertificate,
  node: PeerIdentity & { readonly tree: string; readonly hosts: readonly string[] },
  issuing: Issuing,
): Promise<KeyAndCertificate> {
  const names: x509.JsonGeneralNames = [
    { type: 'url', value: spiffeId(node.tree, node) },
    ...node.hosts.map((host) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host })),
  ];
  const usages = [x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth];
  return issue(
    authority,
    distinguishedName(node.path === '' ? 'center' : node.path),
    usages,
    [new x509.SubjectAlternativeNameExtension(names)],
    issuing,
  );
}

/** For a person or a program at the API: CN is the name, every O a group, as in Kubernetes. */
export function issueUser(
  authority: KeyAndCertificate,
  user: { readonly name: string; readonly groups: readonly string[] },
  issuing: Issuing,
): Promise<KeyAndCertificate> {
  const subject = distinguishedName(user.name, user.groups);
  return issue(authority, subject, [x509.ExtendedKeyUsage.clientAuth], [], issuing);
}

async function issue(
  authority: KeyAndCertificate,
  subject: x509.Name,
  usages: readonly string[],
  extensions: readonly x509.Extension[],
  { clock, random }: Issuing,
): Promise<KeyAndCertificate> {
  const keys = await generateKeys();
  const issuer = new x509.X509Certificate(authority.certPem);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(random),
    subject,
    // As it is, not as text: Go compares the bytes of both names.
    issuer: issuer.subjectName,
    ...validity(clock, leafDays),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.keyPem),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([...usages]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...extensions,
    ],
  });
  return { certPem: certificate.toString('pem'), keyPem: await exportKey(keys.privateKey) };
}

/** Typed values: a plain string would be read in the syntax of names, where quotes cut it and a leading # makes it hexadecimal. */
function distinguishedName(name: string, groups: readonly string[] = []): x509.Name {
  return new x509.Name([...groups.map((group) => ({ O: [{ utf8String: group }] })), { CN: [{ utf8String: name }] }]);
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

async function exportKey(key: CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return x509.PemConverter.encode(der, 'PRIVATE KEY');
}

function importKey(pem: string): Promise<CryptoKey> {
  const der = x509.PemConverter.decodeFirst(pem);
  return webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
}

/** 16 random bytes, positive, as RFC 5280 wants serial numbers. */
function serial(random: Random): string {
  const bytes = random.bytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x01;
  return hex(bytes);
}

function validity(clock: Clock, days: number): { notBefore: Date; notAfter: Date } {
  const nowMs = clock.wallMs();
  return { notBefore: new Date(nowMs - backdateMs), notAfter: new Date(nowMs + days * dayMs) };
}
