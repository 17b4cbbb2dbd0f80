/**
 * The identity in a certificate of the tree: `spiffe://TREE/node/ROLE/a/b/c`. For the center, no path follows the role. The second and all further replicas
 * of a relay have their number after the role: `spiffe://TREE/node/relay.1/a/b/c`.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { checkDnsLabel } from '../object/names.ts';
import { cliCommand } from '../runtime/cli-command.ts';
import { BanyanError } from '../runtime/errors.ts';
import { notForItsIssuer } from './issuer-name.ts';
import { replicasMax } from './replica.ts';

export interface PeerIdentity {
  /** The path in the peer's certificate. The empty path is the center. */
  readonly path: string;
  readonly role: 'center' | 'relay' | 'agent';
  /** The replica number of a relay. Absent for number 0, the first replica. */
  readonly replica?: number;
  /** The certificate of the peer. Absent if the identity was not read from a certificate. */
  readonly certificate?: PeerCertificate;
}

export interface PeerCertificate {
  /** The hash of the public key (`hashOfKey`). */
  readonly key: string;
  /** Wall time in ms from which the certificate is valid: up to an hour before it was made. */
  readonly fromMs: number;
  /** The issuers of relays between the certificate and the authority, the nearest first. Absent: the authority itself has signed the certificate. */
  readonly signers?: readonly Signer[];
  /** The authority to which the chain leads (`authorityId`). Absent: the chain was not verified. */
  readonly authority?: string;
}

/** The issuer of a relay. */
export interface Signer {
  /** The path of the relay. */
  readonly path: string;
  /** The hash of the issuer's public key (`hashOfKey`). */
  readonly key: string;
  /** Wall time in ms from which the issuer's certificate is valid. */
  readonly fromMs: number;
}

const roles = ['center', 'relay', 'agent'] as const;
const scheme = 'spiffe://';

/** The characters that a trust domain may have: https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md, section 2.1. */
const trustDomain = /^[a-z0-9._-]+$/;

/** The text of the identity. Throws Invalid if a receiver would not read the same tree and node from the text. */
export function spiffeId(tree: string, { role, path, replica = 0 }: PeerIdentity): string {
  const number = replica === 0 ? '' : `.${replica}`;
  const id = `${scheme}${tree}/node/${role}${number}${path === '' ? '' : `/${path.replaceAll(':', '/')}`}`;
  const read = readSpiffeId(id);
  const wrong = typeof read === 'string' ? read : read.role !== role || read.path !== path ? 'a slash in a name' : '';
  if (wrong) throw new BanyanError('Invalid', `${role} "${path}" of tree "${tree}": ${wrong}`);
  return id;
}

/**
 * The identity in the certificate. Throws Unauthorized with the mistake if the certificate does not name exactly one node, or names a node for which its
 * issuer is not allowed to sign. Says nothing about the certificates above: for the certificate of another node, use peer-chain.ts.
 */
export function identityOfCertificate(der: Uint8Array): PeerIdentity {
  const certificate = new X509Certificate(der);
  const names = certificate.subjectAltName;
  // Node quotes and escapes separators inside names, so one name can't look like two.
  const uris = (names?.split(', ') ?? []).filter((name) => name.startsWith('URI:')).map((name) => name.slice(4));
  if (uris.length === 0)
    throw unauthorized(`the certificate names no node of a tree (${names ?? 'it has no alternative names'})`);
  if (uris.length > 1) throw unauthorized(`the certificate names more than one identity: ${uris.join(', ')}`);
  const wrong = notForItsIssuer(certificate, uris[0]!);
  if (wrong) throw unauthorized(`the certificate for ${uris[0]} does not count: ${wrong}`);
  return { ...identityOfSpiffeId(uris[0]!), certificate: certificateIn(certificate) };
}

/** True if the certificate names a node, even one of another tree or with a mistake. */
export function isOfNode({ subjectAltName }: Pick<X509Certificate, 'subjectAltName'>): boolean {
  return subjectAltName?.includes(`URI:${scheme}`) === true;
}

export function certificateIn({ publicKey, validFrom }: X509Certificate): Pick<PeerCertificate, 'key' | 'fromMs'> {
  return { key: hashOfKey(publicKey.export({ type: 'spki', format: 'der' })), fromMs: Date.parse(validFrom) };
}

/** Reads an identity from a text that another node sent. Throws Unauthorized with the mistake. */
export function identityOfSpiffeId(id: string): PeerIdentity {
  const read = readSpiffeId(id);
  if (typeof read !== 'string') return read;
  throw unauthorized(`the certificate is for ${id}, which is no node of a tree: ${read}`);
}

/** The identity, or the mistake in the text. The names of nodes are DNS labels. So each node has only one text, and the text needs no decoding. */
function readSpiffeId(id: string): PeerIdentity | string {
  if (!id.startsWith(scheme)) return `it does not begin with ${scheme}`;
  const [tree, node, named, ...names] = id.slice(scheme.length).split('/');
  if (!trustDomain.test(tree!)) return `"${tree}" is no name of a tree: it may have a-z, 0-9, '.', '_' and '-'`;
  if (node !== 'node') return 'its path does not begin with /node/';
  const [roleName, number] = (named ?? '').split(/\.(?=[^.]*$)/);
  const role = roles.find((known) => known === roleName);
  if (!role) return `"${named ?? ''}" is none of the roles ${roles.join(', ')}`;
  if (role === 'center' && names.length > 0) return 'the center has no path';
  if (role !== 'center' && names.length === 0) return `a path has to follow the role ${role}`;
  if (number !== undefined && (role !== 'relay' || !isReplica(number)))
    return `".${number}" behind the role ${role}: only relays have replicas, with numbers from 1 to ${replicasMax - 1}`;
  for (const name of names) {
    const reason = checkDnsLabel(name);
    if (reason) return `"${name}" in its path: ${reason}`;
  }
  return { role, path: names.join(':'), ...(number === undefined ? {} : { replica: Number(number) }) };
}

function isReplica(number: string): boolean {
  return /^[1-9]$/.test(number) && Number(number) < replicasMax;
}

function unauthorized(message: string): BanyanError {
  return new BanyanError('Unauthorized', message);
}

/** 64 bits: among the few authorities of a tree, no two look the same. */
const authorityIdLength = 16;

/** A short name of an authority for people and programs: the begin of the hash of its public key. */
export function authorityId(authority: X509Certificate): string {
  return certificateIn(authority).key.slice(0, authorityIdLength);
}

/** SHA-256, in hex, of a public key in the form SubjectPublicKeyInfo. */
export function hashOfKey(spki: Uint8Array): string {
  return createHash('sha256').update(spki).digest('hex');
}

/**
 * Explains why a certificate is not trusted. `reason` is OpenSSL's name of the verification error:
 * https://docs.openssl.org/master/man3/X509_STORE_CTX_get_error/
 */
export function describeMistrust(
  { subjectAltName, subject, validFrom, validTo }: X509Certificate,
  reason: string,
): string {
  const uri = subjectAltName?.split(', ').find((name) => name.startsWith('URI:'));
  const whose = `the certificate ${uri?.slice(4) ?? subject}`;
  if (reason === 'CERT_HAS_EXPIRED') return `${whose} expired on ${validTo}: issue a new one`;
  if (reason === 'CERT_NOT_YET_VALID')
    return `${whose} is valid only from ${validFrom}: compare the clocks of both ends`;
  // Short, because the log cuts long reasons.
  const changed = `after a change of the authority: ${cliCommand('join-token', 'PATH', '--again')}`;
  return `${whose} was not signed by the authority of this tree (${reason}): check that both nodes belong to one tree; ${changed}`;
}
