/** The certificates of a local tree, stored in its data directory. Each certificate is made once, and again when two thirds of its validity are over. */
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTokenKey } from '../../core/authentication/token-key.ts';
import {
  createAuthority,
  createIssuer,
  createSubtreeIssuer,
  createUserAuthority,
  hostsNotPermitted,
  type Issuing,
  issueNode,
  issueUser,
  type KeyAndCertificate,
} from '../../core/identity/authority.ts';
import { hostsMissing } from '../../core/identity/certificate-hosts.ts';
import { validityOf } from '../../core/identity/certificate-validity.ts';
import { leadsTo } from '../../core/identity/client-authority.ts';
import { dottedPath } from '../../core/identity/node-path.ts';
import { certificatesIn } from '../../core/identity/pem-certificates.ts';
import { ownField } from '../../core/object/json-value.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import type { PlannedNode } from '../topology/plan.ts';
import { AuthorityFiles } from './authority-files.ts';
import type { DataDirectory } from './data-directory.ts';
import { administrator } from './kubeconfig.ts';

export interface TreePki {
  readonly caFile: string;
  readonly caPem: string;
  readonly admin: { readonly certPem: string; readonly keyPem: string };
  /** True: certificates of users that were made before this start are refused from now on. */
  readonly refusesFormer: boolean;
  /** True: the authority of nodes should be replaced, because two thirds of its time are over. */
  readonly isAuthorityDue: boolean;
  /** The file with the authorities of users. */
  readonly usersFile: string;
  /** For a relay with replicas: the file with the keys that sign the tokens of ServiceAccounts. */
  tokenKeys(path: string): string | undefined;
  /** The files with certificate and key of the authority that signs users. */
  readonly userSigner: { readonly cert: string; readonly key: string };
  /** The files with a node's certificate and key. */
  nodeFiles(id: string): { readonly cert: string; readonly key: string };
  /** For a relay or the center: the files with the issuer's certificate and key. */
  issuerFiles(id: string): { readonly cert: string; readonly key: string };
  /** Likewise for the issuer of the subtree. */
  subtreeIssuerFiles(id: string): { readonly cert: string; readonly key: string };
}

/** A node that gets certificates. */
export interface PkiNode extends Pick<PlannedNode, 'id' | 'path' | 'role' | 'replica' | 'replicas' | 'listen'> {
  /** DNS names and IP addresses at which clients reach the node, beside the address where it listens. */
  readonly names?: readonly string[];
  /** The hosts that servers below the node may have. Absent: its own hosts, and names below them. */
  readonly admits?: 'any';
}

/** `removedAtMs`: when a node of this path was removed; its certificates from before count no more. */
export async function ensureTreePki(
  data: DataDirectory,
  tree: string,
  nodes: readonly PkiNode[],
  clock: Clock,
  removedAtMs: Readonly<Record<string, number>> = {},
): Promise<TreePki> {
  const issuing: Issuing = { clock, random: systemRandom };
  const base = (name: string) => join(data.pki, name);
  const removedAt = (path: string) => ownField(removedAtMs, path);
  const authority = present(base('ca')) ?? (await ensure(base('ca'), clock, () => createAuthority(tree, issuing)));
  const { above } = new AuthorityFiles(data.pki, issuing);
  const signed = async (make: () => Promise<KeyAndCertificate>): Promise<KeyAndCertificate> => {
    const { certPem, keyPem } = await make();
    return { certPem: `${certPem.trim()}\n${above}`, keyPem };
  };
  await Promise.all(
    nodes.map((node) => {
      const hosts = hostsOf(node);
      const { path, id, role, replica } = node;
      const named = { tree, path, role, replica, hosts, ...laterThan(removedAt(path)) };
      const issue = () => signed(() => issueNode(authority, named, issuing));
      const fits = (existing: X509Certificate) => hostsMissing(existing, hosts).length === 0;
      return ensure(base(dottedPath(id)), clock, issue, (one) => fits(one) && isAfter(one, removedAt(path)));
    }),
  );
  await Promise.all(
    nodes
      .filter(({ role }) => role !== 'agent')
      .flatMap((node) => {
        const { id, path, admits } = node;
        const of = { tree, path, hosts: admits ?? hostsOf(node), ...laterThan(removedAt(path)) };
        const isLater = (existing: X509Certificate) => isAfter(existing, removedAt(path));
        return [
          ensure(base(issuerName(id)), clock, () => signed(() => createIssuer(authority, of, issuing)), isLater),
          ensure(
            base(subtreeIssuerName(id)),
            clock,
            () => signed(() => createSubtreeIssuer(authority, of, issuing)),
            (one) => hostsNotPermitted({ certPem: one.toString() }, hostsOf(node)).length === 0 && isLater(one),
          ),
        ];
      }),
  );
  const tokenKeys = new Map(
    nodes
      .filter(({ replicas }) => replicas > 1)
      .map(({ path }) => [path, tokenKeyFile(base(`tokens_${dottedPath(path)}`))]),
  );
  const hadUsers = existsSync(`${base('user-admin')}.crt`);
  const refusesFormer = hadUsers && !existsSync(`${base(userAuthorityName)}.crt`);
  const users = await ensure(base(userAuthorityName), clock, () => createUserAuthority(tree, issuing));
  const usersFile = trustUsersOf(data, users.certPem, clock);
  const admin = await ensure(
    base('user-admin'),
    clock,
    () => issueUser(users, administrator, issuing),
    // Before trees had an authority for users, the authority of the nodes has signed this certificate.
    (existing) => leadsTo([existing], [new X509Certificate(users.certPem)]),
  );
  return {
    caFile: `${base('ca')}.crt`,
    caPem: authority.certPem,
    admin,
    usersFile,
    refusesFormer,
    isAuthorityDue: !isYoung(new X509Certificate(authority.certPem), clock),
    tokenKeys: (path) => tokenKeys.get(path),
    userSigner: filesAt(base(userAuthorityName)),
    nodeFiles: (id) => filesAt(base(dottedPath(id))),
    issuerFiles: (id) => filesAt(base(issuerName(id))),
    subtreeIssuerFiles: (id) => filesAt(base(subtreeIssuerName(id))),
  };
}

/**
 * The authority in the files. It is never replaced here: certificates that it has signed, also of nodes elsewhere, would no longer count. Its key may be kept
 * elsewhere. As long as no certificate is due, nothing needs the key.
 */
function present(base: string): KeyAndCertificate | undefined {
  const { cert, key } = filesAt(base);
  if (!existsSync(cert)) return undefined;
  return {
    certPem: readFileSync(cert, 'utf8'),
    get keyPem(): string {
      if (existsSync(key)) return readFileSync(key, 'utf8');
      const remedy = 'put it there for this start, or sign the certificates of this directory that are due elsewhere';
      throw new BanyanError('NotFound', `a certificate has to be signed, and there is no ${key}: ${remedy}`);
    },
  };
}

/** The file with the key that signs tokens, for a relay with replicas. The file is made once. People may put a newer key before it. */
function tokenKeyFile(base: string): string {
  const file = `${base}.key`;
  if (!existsSync(file)) writeWhole(file, makeTokenKey());
  return file;
}

/** The name of the files of the users' authority. No node has an underscore in its name. */
const userAuthorityName = 'users_ca';

/**
 * Writes the file with the authorities whose users all nodes know: the present one, and those before it until they expire. People may add others. Returns the path
 * of the file.
 */
function trustUsersOf(data: DataDirectory, certPem: string, clock: Clock): string {
  const file = join(data.pki, 'users_trusted.crt');
  const before = existsSync(file) ? certificatesIn(readFileSync(file)) : [];
  const present = new X509Certificate(certPem);
  const others = before.filter(
    (one) => one.fingerprint256 !== present.fingerprint256 && validityOf(one).endsAtMs > clock.wallMs(),
  );
  const pems = [present, ...others].map((one) => one.toString().trim());
  writeWhole(file, `${pems.join('\n')}\n`, { mode: 0o644 });
  return file;
}

/** The name of an issuer's files. It can't be the name of a node's files, because no node has an underscore in its name. */
function issuerName(id: string): string {
  return `issuer_${dottedPath(id)}`;
}

function subtreeIssuerName(id: string): string {
  return `issuer_subtree_${dottedPath(id)}`;
}

function hostsOf({ listen, names = [] }: PkiNode): string[] {
  return [...new Set(['127.0.0.1', 'localhost', listen?.host ?? '127.0.0.1', ...names])];
}

function filesAt(base: string): { readonly cert: string; readonly key: string } {
  return { cert: `${base}.crt`, key: `${base}.key` };
}

export interface AgentCertificate extends KeyAndCertificate {
  readonly caPem: string;
}

/**
 * Makes a certificate for an agent whose process does not belong to this tree's supervisor. `afterMs`: the time of the agent's revocation. Throws NotFound if the data directory has no certificate
 * authority.
 */
export async function issueTreeAgent(
  data: DataDirectory,
  path: string,
  clock: Clock,
  afterMs?: number,
): Promise<AgentCertificate> {
  const authority = authorityOf(data);
  const tree = treeIn(data);
  const named = { tree, path, role: 'agent' as const, hosts: [], ...(afterMs === undefined ? {} : { afterMs }) };
  return { caPem: authority.certPem, ...(await issueNode(authority, named, { clock, random: systemRandom })) };
}

/** The name of the tree whose center has its certificate in the directory. Throws NotFound if it has none there. */
export function treeIn(data: DataDirectory): string {
  const { subjectAltName = '' } = new X509Certificate(readPki(data, `${dottedPath('')}.crt`));
  const tree = /URI:spiffe:\/\/([^/]+)\/node\/center/.exec(subjectAltName)?.[1];
  if (!tree) throw new BanyanError('Invalid', `${data.pki}: the certificate of the center names no tree`);
  return tree;
}

/** Makes a certificate for a user of the tree's APIs. Throws NotFound if the data directory has no certificate authority. */
export function issueTreeUser(
  data: DataDirectory,
  user: {
    readonly name: string;
    readonly groups: readonly string[];
    readonly ttlMs: number;
    readonly afterMs?: number;
  },
  clock: Clock,
): Promise<KeyAndCertificate> {
  // A tree that was started by a version without this authority knows the users of the nodes' authority.
  const name = existsSync(join(data.pki, `${userAuthorityName}.key`)) ? userAuthorityName : 'ca';
  return issueUser(authorityOf(data, name), user, { clock, random: systemRandom }, user.ttlMs);
}

/** Whether the directory has the key that signs users. */
export function hasUserAuthority(data: DataDirectory): boolean {
  return [userAuthorityName, 'ca'].some((name) => existsSync(join(data.pki, `${name}.key`)));
}

function authorityOf(data: DataDirectory, name = 'ca'): KeyAndCertificate {
  return { certPem: readPki(data, `${name}.crt`), keyPem: readPki(data, `${name}.key`) };
}

function readPki(data: DataDirectory, name: string): string {
  const file = join(data.pki, name);
  if (existsSync(file)) return readFileSync(file, 'utf8');
  throw new BanyanError('NotFound', `there is no ${file}: name the data directory of the tree by --data`);
}

async function ensure(
  base: string,
  clock: Clock,
  make: () => Promise<KeyAndCertificate>,
  fits: (existing: X509Certificate) => boolean = () => true,
): Promise<KeyAndCertificate> {
  const files = filesAt(base);
  if (existsSync(files.cert) && existsSync(files.key)) {
    const existing = { certPem: readFileSync(files.cert, 'utf8'), keyPem: readFileSync(files.key, 'utf8') };
    const certificate = new X509Certificate(existing.certPem);
    if (isYoung(certificate, clock) && fits(certificate)) return existing;
  }
  const made = await make();
  // The key is written first, because a certificate without its key would look complete.
  writeWhole(files.key, made.keyPem);
  writeWhole(files.cert, made.certPem, { mode: 0o644 });
  return made;
}

function laterThan(afterMs: number | undefined): { readonly afterMs?: number } {
  return afterMs === undefined ? {} : { afterMs };
}

function isAfter(certificate: X509Certificate, removedAtMs: number | undefined): boolean {
  return removedAtMs === undefined || Date.parse(certificate.validFrom) > removedAtMs;
}

function isYoung(certificate: X509Certificate, clock: Clock): boolean {
  return clock.wallMs() < validityOf(certificate).renewAtMs;
}
