/** `banyan user add NAME`: a certificate for a person or a program, as a kubeconfig with the contexts of the tree. */
import { X509Certificate } from 'node:crypto';
import { stringify } from 'yaml';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { type Redirect, redirected } from './advertised.ts';
import { isOfTree } from './open-tree.ts';
import type { Output } from './output.ts';
import { portableKubeconfig } from './portable-kubeconfig.ts';
import type { TreeKubeconfig } from './tree-routes.ts';
import { UsageError } from './usage-error.ts';

export interface UserRequest {
  readonly name: string;
  readonly groups: readonly string[];
  readonly ttlMs: number;
}

/** Kubernetes reserves names with this prefix for itself: a role of the system could mean the user. */
const reserved = 'system:';

export function userName(name: string): string {
  if (name === '' || /[\p{Cc}]/u.test(name)) throw new UsageError(`user: ${JSON.stringify(name)} is no name of a user`);
  if (name.startsWith(reserved)) {
    throw new UsageError(`user: "${name}": names with ${reserved} belong to Kubernetes itself; choose another name`);
  }
  return name;
}

/**
 * Returns the kubeconfig, with the contexts of the tree. Contexts of other clusters are left out: their servers do not know the user. What the user may
 * do, roles and AccessGrants decide: the certificate alone gives no rights.
 */
export function addUser(
  { config, current }: TreeKubeconfig,
  request: UserRequest,
  { certPem, keyPem }: KeyAndCertificate,
  redirect: Redirect | undefined,
): Output {
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  const user = { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) };
  const ofTree = config.contexts.filter(({ name }) => isOfTree(name));
  const chosen = ofTree.length > 0 ? ofTree : config.contexts.filter(({ name }) => name === current);
  const contexts = chosen.map(({ name, context }) => ({ name, context: { ...context, user: request.name } }));
  const clusters = config.clusters
    .filter(({ name }) => contexts.some(({ context }) => context.cluster === name))
    .map((one) => ({ ...one, cluster: { ...one.cluster, server: redirected(one.cluster.server, redirect) } }));
  const users = [{ name: request.name, user }];
  const data = portableKubeconfig({ 'current-context': current, contexts, clusters, users });
  const text = stringify(data, { aliasDuplicateObjects: false }).trimEnd();
  const { validTo } = new X509Certificate(certPem);
  const groups = request.groups.length === 0 ? 'none' : request.groups.join(', ');
  const notes = [`user: ${request.name}`, `groups: ${groups}`, `valid until: ${new Date(validTo).toISOString()}`];
  const wide = [...notes.map((note) => `# ${note}`), text].join('\n');
  return { data, names: [`user/${request.name}`], text, wide };
}
