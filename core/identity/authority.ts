/**
 * The certificate authorities of a tree: one for nodes, one for users of the API. Only code that issues certificates imports this file,
 * because the file needs the library @peculiar/x509. Code that reads certificates needs only node:crypto (peer-identity.ts).
 */
import { cliCommand } from '../runtime/cli-command.ts';
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import type { Clock } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import { hex } from '../store/bytes.ts';
import { subtreeIssuersMax } from './certificate-chain.ts';
import type { JudgedRequest } from './certificate-request.ts';
import { issuerMs, leafMs, validityFrom } from './certificate-validity.ts';
import { issuerUnit, subtreeUnit } from './issuer-name.ts';
import { nameConstraints, nameConstraintsOid, notPermittedHosts, type PermittedHosts } from './name-constraints.ts';
import { type PeerIdentity, spiffeId } from './peer-identity.ts';
import type { AlternativeName } from './user-request.ts';

x509.cryptoProvider.set(webcrypto as Crypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
/** The authority lasts longer than every node, because a new authority must reach every node and client. */
export const authorityMs = 3650 * 86_400_000;

export interface KeyAndCertificate {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface Issuing {
  readonly clock: Clock;
  readonly random: Random;
}

/** The authority of the nodes of a tree. */
export async function createAuthority(tree: string, issuing: Issuing): Promise<KeyAndCertificate> {
  if (tree.toLowerCase().includes(issuerUnit)) {
    throw new BanyanError(
      'Invalid',
      `"${tree}" is no name for a tree: only names of issuers may contain ${issuerUnit}`,
    );
  }
  return selfSigned(`banyan ${tree}`, issuing);
}

/** The authority of the users of a tree. No link accepts its certificates. */
export function createUserAuthority(tree: string, issuing: Issuing): Promise<KeyAndCertificate> {
  return selfSigned(`banyan users of ${tree}`, issuing);
}

export async function selfSigned(name: string | x509.Name, { clock, random }: Issuing): Promise<KeyAndCertificate> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(random),
    name: typeof name === 'string' ? distinguishedName(name) : name,
    ...validityFrom(clock.wallMs(), authorityMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: await authorityExtensions(keys.publicKey),
  });
  return { certPem: certificate.toString('pem'), keyPem: await exportKey(keys.privateKey) };
}

export async function authorityExtensions(publicKey: x509.PublicKeyType): Promise<x509.Extension[]> {
  return [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    // The identifier distinguishes an authority from a newer authority with the same name.
    await x509.SubjectKeyIdentifierExtension.create(publicKey),
  ];
}

/**
 * Creates the issuer with which a relay or the center signs the certificates of the agents directly below it. The issuer can't sign a server, an authority
 * or any other node: issuer-name.ts.
 */
export async function createIssuer(
  authority: KeyAndCertificate,
  of: { readonly tree: string; readonly path: string; readonly afterMs?: number },
  issuing: Issuing,
): Promise<KeyAndCertificate> {
  const keys = await generateKeys();
  const name = spiffeId(of.tree, { path: of.path, role: of.path === '' ? 'center' : 'relay' });
  const certPem = await sign(
    authority,
    {
      subject: unitName(issuerUnit, name),
      publicKey: keys.publicKey,
      lifeMs: issuerMs,
      afterMs: of.afterMs,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    },
    issuing,
  );
  return { certPem, keyPem: await exportKey(keys.privateKey) };
}

/** Issues the certificate of a node. The certificate has the SPIFFE identity of the node, and the hosts at which clients reach its API. */
export function issueNode(
  authority: KeyAndCertificate,
  node: PeerIdentity & { readonly tree: string; readonly hosts: readonly string[]; readonly afterMs?: number },
  issuing: Issuing,
): Promise<KeyAndCertificate> {
  const usages = [x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth];
  return issue(
    authority,
    distinguishedName(node.path === '' ? 'center' : node.path),
    usages,
    [namesOf(spiffeId(node.tree, node), node.hosts)],
    issuing,
    leafMs,
    node.afterMs,
  );
}

export interface SubtreeIssuer {
  readonly tree: string;
  /** The path of the relay, or the empty path of the center. */
  readonly path: string;
  /** The hosts that certificates of servers in the subtree may have. */
  readonly hosts: PermittedHosts;
}

/**
 * Creates the issuer with which a relay or the center signs the certificates of all nodes below it, and the issuers of relays below it. Throws Forbidden if the
 * authority may sign no further issuer.
 */
export async function createSubtreeIssuer(
  authority: KeyAndCertificate,
  of: SubtreeIssuer & { readonly afterMs?: number },
  issuing: Issuing,
): Promise<KeyAndCertificate> {
  const keys = await generateKeys();
  return {
    certPem: await issueSubtreeIssuer(authority, of, keys, issuing, { afterMs: of.afterMs }),
    keyPem: await exportKey(keys.privateKey),
  };
}

/** Like `createSubtreeIssuer`, for a key that the relay has made itself. `afterMs`, `lifeMs`: as for other certificates. */
export async function issueSubtreeIssuer(
  authority: KeyAndCertificate,
  of: SubtreeIssuer,
  { publicKey }: Pick<webcrypto.CryptoKeyPair, 'publicKey'> | { readonly publicKey: x509.PublicKey },
  issuing: Issuing,
  { lifeMs = issuerMs, afterMs }: { readonly lifeMs?: number; readonly afterMs?: number | undefined } = {},
): Promise<string> {
  const { path, tree, hosts } = of;
  const name = spiffeId(tree, { path, role: path === '' ? 'center' : 'relay' });
  return sign(
    authority,
    {
      subject: nameBelow(name),
      publicKey,
      lifeMs,
      afterMs,
      extensions: [
        new x509.BasicConstraintsExtension(true, issuersBelow(authority, path), true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        new x509.Extension(nameConstraintsOid, false, nameConstraints(hosts)),
        await x509.SubjectKeyIdentifierExtension.create(publicKey),
      ],
    },
    issuing,
  );
}

/** The hosts for which the issuer may sign no certificate of a server. */
export function hostsNotPermitted({ certPem }: Pick<KeyAndCertificate, 'certPem'>, hosts: readonly string[]): string[] {
  const constraints = new x509.X509Certificate(certPem).getExtension(nameConstraintsOid);
  return constraints ? notPermittedHosts(constraints.value, hosts) : [];
}

/** How many further issuers may stand below the new one in a chain. */
function issuersBelow({ certPem }: KeyAndCertificate, path: string): number {
  const { pathLength = subtreeIssuersMax } =
    new x509.X509Certificate(certPem).getExtension(x509.BasicConstraintsExtension) ?? {};
  if (pathLength > 0) return pathLength - 1;
  const reason = `at most ${subtreeIssuersMax} relays above one another get an authority of their own from the relay above`;
  throw new BanyanError('Forbidden', `the relay "${path}" is too deep to admit nodes itself: ${reason}`);
}

/**
 * Issues the certificate of a node from the node's request. The node keeps its private key to itself. The certificate is only for a client if the node is an
 * agent, whatever the request asks for. The result has the certificates of the issuers after that of the node.
 */
export async function issueJoined(
  issuer: KeyAndCertificate,
  { path, id, role, hosts, publicKey }: JudgedRequest,
  issuing: Issuing,
  { lifeMs = leafMs, afterMs }: { readonly lifeMs?: number | undefined; readonly afterMs?: number | undefined } = {},
): Promise<string> {
  const signer = new x509.X509Certificate(issuer.certPem);
  if (signer.notAfter.getTime() <= issuing.clock.wallMs()) {
    const remedy = `issue a new one; ${cliCommand('up')} does so when it starts`;
    throw new BanyanError(
      'Unavailable',
      `the issuer of this node expired on ${signer.notAfter.toUTCString()}: ${remedy}`,
    );
  }
  const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
  const usages = role === 'agent' ? [clientAuth] : [serverAuth, clientAuth];
  const extensions = leafExtensions(usages, [namesOf(id, hosts)]);
  const isBelow = signer.subject.includes(subtreeUnit);
  const subject = isBelow ? nameBelow(path) : distinguishedName(path);
  const certificate = await sign(issuer, { subject, publicKey, lifeMs, afterMs, extensions }, issuing);
  return `${certificate}\n${issuer.certPem.trim()}\n`;
}

/** A name below the issuer of a subtree. */
function nameBelow(name: string): x509.Name {
  return unitName(subtreeUnit, name);
}

export function unitName(unit: string, name: string): x509.Name {
  return new x509.Name([{ OU: [{ utf8String: unit }] }, { CN: [{ utf8String: name }] }]);
}

function namesOf(id: string, hosts: readonly string[]): x509.SubjectAlternativeNameExtension {
  return new x509.SubjectAlternativeNameExtension([
    { type: 'url', value: id },
    ...hosts.map((host) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host })),
  ]);
}

/**
 * Issues a certificate with which a person or a program uses the API. CN is the user name, and each O is a group, as in Kubernetes. `afterMs`: the time of the
 * user's revocation; the certificate is valid only after this time, in ms of the wall clock.
 */
export function issueUser(
  authority: KeyAndCertificate,
  user: { readonly name: string; readonly groups: readonly string[]; readonly afterMs?: number },
  issuing: Issuing,
  lifeMs = leafMs,
): Promise<KeyAndCertificate> {
  const subject = distinguishedName(user.name, user.groups);
  return issue(authority, subject, [x509.ExtendedKeyUsage.clientAuth], [], issuing, lifeMs, user.afterMs);
}

/**
 * Issues the certificate of a user who has a key already. The certificate has the common name, the organizations and the alternative names, and nothing else of the
 * request.
 */
export function issueRequested(
  authority: KeyAndCertificate,
  user: {
    readonly name: string;
    readonly groups: readonly string[];
    readonly alternativeNames: readonly AlternativeName[];
    readonly publicKey: x509.PublicKey;
    /** Whether the certificate is for the encipherment of keys too, as some clients with RSA keys ask. */
    readonly encipherment: boolean;
    readonly afterMs?: number;
  },
  issuing: Issuing,
  lifeMs: number,
): Promise<string> {
  const { name, groups, alternativeNames, publicKey, encipherment, afterMs } = user;
  const keyUsage = encipherment ? x509.KeyUsageFlags.keyEncipherment : 0;
  const names = alternativeNames.length > 0 ? [new x509.SubjectAlternativeNameExtension([...alternativeNames])] : [];
  const extensions = leafExtensions([x509.ExtendedKeyUsage.clientAuth], names, keyUsage);
  return sign(authority, { subject: distinguishedName(name, groups), publicKey, lifeMs, afterMs, extensions }, issuing);
}

async function issue(
  authority: KeyAndCertificate,
  subject: x509.Name,
  usages: readonly string[],
  extensions: readonly x509.Extension[],
  issuing: Issuing,
  lifeMs = leafMs,
  afterMs?: number,
): Promise<KeyAndCertificate> {
  const keys = await generateKeys();
  const leaf = { subject, publicKey: keys.publicKey, lifeMs, afterMs, extensions: leafExtensions(usages, extensions) };
  return { certPem: await sign(authority, leaf, issuing), keyPem: await exportKey(keys.privateKey) };
}

function leafExtensions(
  usages: readonly string[],
  extensions: readonly x509.Extension[],
  keyUsage = 0,
): x509.Extension[] {
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | keyUsage, true),
    new x509.ExtendedKeyUsageExtension([...usages]),
    ...extensions,
  ];
}

type ToSign = {
  readonly subject: x509.Name;
  readonly publicKey: x509.PublicKeyType;
  readonly extensions: readonly x509.Extension[];
} & (
  | {
      readonly lifeMs: number;
      /** The validity begins after this time. */
      readonly afterMs?: number | undefined;
    }
  | { readonly validity: Validity }
);

interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Signs the certificate. The certificate ends no later than the certificate of the authority. */
export async function sign(authority: KeyAndCertificate, toSign: ToSign, { clock, random }: Issuing): Promise<string> {
  const { subject, publicKey, extensions } = toSign;
  const issuer = new x509.X509Certificate(authority.certPem);
  const { notBefore, notAfter } = 'validity' in toSign ? toSign.validity : validityOfNew(clock.wallMs(), toSign);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(random),
    subject,
    // Takes the name object of the issuer and not its text: Go compares the encoded bytes of both names, and a name made from the text could have other
    // bytes.
    issuer: issuer.subjectName,
    notBefore,
    notAfter: notAfter < issuer.notAfter ? notAfter : issuer.notAfter,
    signingAlgorithm: algorithm,
    publicKey,
    signingKey: await importKey(authority.keyPem),
    extensions: [...extensions, await x509.AuthorityKeyIdentifierExtension.create(issuer)],
  });
  return certificate.toString('pem');
}

function validityOfNew(
  nowMs: number,
  { lifeMs, afterMs = 0 }: { readonly lifeMs: number; readonly afterMs?: number | undefined },
): Validity {
  const { notBefore, notAfter } = validityFrom(nowMs, lifeMs);
  // Certificates have whole seconds.
  return { notBefore: new Date(Math.max(notBefore.getTime(), (Math.floor(afterMs / 1_000) + 1) * 1_000)), notAfter };
}

/** Passes typed values. The library would parse a plain string as an encoded name: a quote would cut the text, and a leading # would make it hexadecimal. */
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

/** A positive number of 16 random bytes. RFC 5280 requires positive serial numbers. */
function serial(random: Random): string {
  const bytes = random.bytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x01;
  return hex(bytes);
}
