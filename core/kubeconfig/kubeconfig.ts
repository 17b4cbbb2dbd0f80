/**
 * Kubeconfigs (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/): the address of a cluster, and the credentials of its user. Names of files in a
 * kubeconfig are relative to the folder of the kubeconfig.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import * as z from 'zod';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { checkSchema, problemsText } from '../runtime/schema-problems.ts';
import { parseYamlFile } from '../runtime/yaml-text.ts';

const clusterSchema = z.looseObject({
  server: z.string(),
  'certificate-authority': z.string().optional(),
  'certificate-authority-data': z.string().optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': z.string().optional(),
  'proxy-url': z.string().optional(),
});
const userSchema = z.looseObject({
  'client-certificate': z.string().optional(),
  'client-certificate-data': z.string().optional(),
  'client-key': z.string().optional(),
  'client-key-data': z.string().optional(),
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  username: z.string().optional(),
  exec: z.looseObject({}).nullish(),
  'auth-provider': z.looseObject({}).nullish(),
});
const contextSchema = z.looseObject({ cluster: z.string(), user: z.string(), namespace: z.string().optional() });
const configSchema = z.object({
  'current-context': z.string().nullish(),
  contexts: z.array(z.object({ name: z.string(), context: contextSchema })).nullish(),
  clusters: z.array(z.object({ name: z.string(), cluster: clusterSchema })).nullish(),
  users: z.array(z.object({ name: z.string(), user: userSchema })).nullish(),
});

/** The fields of a user and of a cluster that name files. */
const fileFields = ['client-certificate', 'client-key', 'tokenFile', 'certificate-authority'];

/** A kubeconfig with absolute names of files. */
export interface Kubeconfig {
  readonly 'current-context': string;
  readonly contexts: readonly { readonly name: string; readonly context: z.infer<typeof contextSchema> }[];
  readonly clusters: readonly { readonly name: string; readonly cluster: z.infer<typeof clusterSchema> }[];
  readonly users: readonly { readonly name: string; readonly user: z.infer<typeof userSchema> }[];
}

/** The content of a file, or a file that is read at each use. */
export type Source = { readonly content: Buffer } | { readonly file: string };

export interface ClusterAccess {
  readonly server: URL;
  readonly ca?: Source;
  readonly cert?: Source;
  readonly key?: Source;
  readonly token?: Source;
  readonly serverName?: string;
  readonly proxy?: string;
  readonly skipsVerification: boolean;
  /** True: the user signs in by a program, a provider or a password. */
  readonly signsInOtherwise: boolean;
}

/** Throws BadRequest with the file and what is wrong with it. */
export function readKubeconfig(file: string): Kubeconfig {
  const checked = checkSchema(configSchema, kubeconfigYaml(file));
  if ('problems' in checked) {
    throw badKubeconfig(file, `not a kubeconfig: ${problemsText(checked.problems, 'the file')}`);
  }
  const { contexts, clusters, users, ...config } = checked.value;
  const absolute = <T extends object>(fields: T): T => withAbsoluteFiles(fields, dirname(file));
  return {
    'current-context': config['current-context'] ?? '',
    contexts: contexts ?? [],
    clusters: (clusters ?? []).map(({ name, cluster }) => ({ name, cluster: absolute(cluster) })),
    users: (users ?? []).map(({ name, user }) => ({ name, user: absolute(user) })),
  };
}

/** The file as it is, with every field. Throws BadRequest with the file and what is wrong with it, without a part of the file, which has credentials. */
export function kubeconfigYaml(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw badKubeconfig(file, `not a kubeconfig: ${describeError(error)}`, error);
  }
  const parsed = parseYamlFile(text);
  if ('value' in parsed) return parsed.value.value;
  const [{ message, line } = { message: 'not YAML' }] = parsed.problems;
  throw badKubeconfig(file, `not a kubeconfig: ${message}${line === undefined ? '' : ` (line ${line})`}`);
}

/**
 * The access of a context. Undefined: the kubeconfig has no such context, or the context names a cluster or a user that is not there. Throws BadRequest if the
 * server is no URL. `file` is for messages.
 */
export function accessOfContext(config: Kubeconfig, name: string, file: string): ClusterAccess | undefined {
  const chosen = config.contexts.find((one) => one.name === name)?.context;
  const cluster = config.clusters.find((one) => one.name === chosen?.cluster)?.cluster;
  const user = config.users.find((one) => one.name === chosen?.user)?.user;
  if (!chosen || !cluster || !user) return undefined;
  const { server } = cluster;
  if (!URL.canParse(server)) {
    throw badKubeconfig(file, `clusters[${chosen.cluster}].cluster.server is no URL: ${server}`);
  }
  // As in kubectl, data has precedence over a file, and a token file has precedence over a token.
  const source = (data: string | undefined, path: string | undefined): Source | undefined =>
    data ? { content: Buffer.from(data, 'base64') } : path ? { file: path } : undefined;
  const ca = source(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const cert = source(user['client-certificate-data'], user['client-certificate']);
  const key = source(user['client-key-data'], user['client-key']);
  const token = source(undefined, user.tokenFile) ?? (user.token ? { content: Buffer.from(user.token) } : undefined);
  return {
    server: new URL(server),
    skipsVerification: cluster['insecure-skip-tls-verify'] === true,
    signsInOtherwise: Boolean(user.exec ?? user['auth-provider'] ?? user.username),
    ...(cluster['tls-server-name'] ? { serverName: cluster['tls-server-name'] } : {}),
    ...(cluster['proxy-url'] ? { proxy: cluster['proxy-url'] } : {}),
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(token ? { token } : {}),
  };
}

export function badKubeconfig(file: string, what: string, cause?: unknown): BanyanError {
  return new BanyanError('BadRequest', `${file}: ${what}`, {}, { cause });
}

function withAbsoluteFiles<T extends object>(fields: T, folder: string): T {
  const entries = Object.entries(fields).map(([name, value]) =>
    fileFields.includes(name) && typeof value === 'string' && value !== ''
      ? [name, resolve(folder, value)]
      : [name, value],
  );
  return Object.fromEntries(entries) as T;
}
