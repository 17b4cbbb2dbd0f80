/** `banyan user add NAME`: a certificate for a person or a program, as a kubeconfig with the contexts of the tree. */
import type { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { certificatesIn } from '../../core/identity/pem-certificates.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import { UsageError } from './usage-error.ts';

export interface UserRequest {
  readonly name: string;
  readonly groups: readonly string[];
  readonly ttlMs: number;
  /** The address at which the user reaches the node, instead of the one in the kubeconfig: `https://center.example.com:6443`. */
  readonly server?: URL | undefined;
}

interface Kubeconfig {
  readonly clusters?: readonly {
    readonly name: string;
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data'?: string };
  }[];
  readonly contexts?: readonly { readonly name: string; readonly context: object }[];
  readonly users?: unknown;
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
 * Returns the kubeconfig as YAML. The user has the contexts of the file `kubeconfig`. What the user may do there, roles and AccessGrants decide: the
 * certificate alone gives no rights.
 */
export async function addUser(
  kubeconfig: string,
  request: UserRequest,
  issue: (request: UserRequest) => Promise<KeyAndCertificate>,
): Promise<string> {
  const config = read(kubeconfig);
  const { certPem, keyPem } = await issue(request);
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  const user = { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) };
  const contexts = (config.contexts ?? []).map(({ name, context }) => ({
    name,
    context: { ...context, user: request.name },
  }));
  const clusters = (config.clusters ?? []).map((one) => ({
    ...one,
    cluster: { ...one.cluster, server: serverFor(one.cluster.server, request.server) },
  }));
  return stringify(
    { ...config, clusters, users: [{ name: request.name, user }], contexts },
    { aliasDuplicateObjects: false },
  );
}

/** The context's own path below the address: `/spaces/retail`. */
function serverFor(server: string, instead: URL | undefined): string {
  if (!instead) return server;
  const { pathname } = new URL(server);
  return `${instead.href.replace(/\/$/, '')}${pathname === '/' ? '' : pathname}`;
}

/**
 * Replaces the authorities by which the clients of a kubeconfig verify the nodes. `known`: the authorities of the tree until now; clusters with others are not of this
 * tree, and stay as they are.
 */
export function trustInKubeconfig(file: string, caPem: string, known: readonly X509Certificate[]): void {
  const config = read(file);
  const isOfTree = (data: string) => {
    const authorities = certificatesIn(Buffer.from(data, 'base64'));
    return authorities.some((one) => known.some(({ fingerprint256 }) => fingerprint256 === one.fingerprint256));
  };
  const clusters = (config.clusters ?? []).map((one) =>
    isOfTree(one.cluster['certificate-authority-data'] ?? '')
      ? { ...one, cluster: { ...one.cluster, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } }
      : one,
  );
  writeWhole(file, stringify({ ...config, clusters }, { aliasDuplicateObjects: false }));
}

function read(file: string): Kubeconfig {
  try {
    return parse(readFileSync(file, 'utf8')) as Kubeconfig;
  } catch (error) {
    const remedy = 'name the data directory of the tree by --data, or a kubeconfig by --kubeconfig';
    throw new BanyanError('NotFound', `can't read ${file} (${describeError(error)}): ${remedy}`);
  }
}
