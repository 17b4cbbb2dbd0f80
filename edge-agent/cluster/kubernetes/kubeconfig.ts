/**
 * Reads from a kubeconfig the address of one cluster, and the credentials of its user (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/). Names
 * of files in a kubeconfig are relative to the folder of the kubeconfig.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';
import { checkSchema, problemsText } from '../../../core/runtime/schema-problems.ts';

const clusterSchema = z.object({
  server: z.string(),
  'certificate-authority': z.string().optional(),
  'certificate-authority-data': z.string().optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': z.string().optional(),
  'proxy-url': z.string().optional(),
});
const userSchema = z.object({
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
const configSchema = z.object({
  'current-context': z.string().nullish(),
  contexts: z
    .array(z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) }))
    .nullish(),
  clusters: z.array(z.object({ name: z.string(), cluster: clusterSchema })).nullish(),
  users: z.array(z.object({ name: z.string(), user: userSchema })).nullish(),
});

/** The content of a file, or a file that is read at each use. */
export type Source = { readonly content: Buffer } | { readonly file: string };

export interface ClusterAccess {
  readonly server: URL;
  readonly ca?: Source;
  readonly cert?: Source;
  readonly key?: Source;
  readonly token?: Source;
  readonly serverName?: string;
  readonly skipsVerification: boolean;
  /** True: the user signs in by a program, a provider or a password. */
  readonly signsInOtherwise: boolean;
}

/** Throws BadRequest with the file, the field and the reason why the field is wrong. `context` absent: the current context. */
export function readKubeconfig(file: string, context?: string): ClusterAccess {
  const config = parsed(file);
  const name = context ?? config['current-context'] ?? undefined;
  const chosen = config.contexts?.find((one) => one.name === name)?.context;
  const cluster = config.clusters?.find((one) => one.name === chosen?.cluster)?.cluster;
  const user = config.users?.find((one) => one.name === chosen?.user)?.user;
  if (!chosen || !cluster || !user) {
    throw bad(
      file,
      `there is no context ${name ?? '(none is current)'} with a cluster and a user; name one that is there by cluster.kubernetes.context`,
    );
  }
  const { server } = cluster;
  if (!URL.canParse(server)) throw bad(file, `clusters[${chosen.cluster}].cluster.server is no URL: ${server}`);
  const proxy = cluster['proxy-url'];
  if (proxy) {
    const field = `clusters[${chosen.cluster}].cluster.proxy-url`;
    throw bad(file, `${field} is ${proxy}: the agent reaches its own cluster without a proxy; remove the field`);
  }
  // As in kubectl, data has precedence over a file, and a token file has precedence over a token.
  const source = (data: string | undefined, path: string | undefined): Source | undefined =>
    data ? { content: Buffer.from(data, 'base64') } : path ? { file: resolve(dirname(file), path) } : undefined;
  const ca = source(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const cert = source(user['client-certificate-data'], user['client-certificate']);
  const key = source(user['client-key-data'], user['client-key']);
  const token = source(undefined, user.tokenFile) ?? (user.token ? { content: Buffer.from(user.token) } : undefined);
  return {
    server: new URL(server),
    skipsVerification: cluster['insecure-skip-tls-verify'] === true,
    signsInOtherwise: Boolean(user.exec ?? user['auth-provider'] ?? user.username),
    ...(cluster['tls-server-name'] ? { serverName: cluster['tls-server-name'] } : {}),
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(token ? { token } : {}),
  };
}

function parsed(file: string): z.infer<typeof configSchema> {
  let raw: unknown;
  try {
    raw = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw bad(file, `not a kubeconfig: ${describeError(error)}`, error);
  }
  const checked = checkSchema(configSchema, raw);
  if ('value' in checked) return checked.value;
  throw bad(file, `not a kubeconfig: ${problemsText(checked.problems, 'the file')}`);
}

function bad(file: string, what: string, cause?: unknown): BanyanError {
  return new BanyanError('BadRequest', `${file}: ${what}`, {}, { cause });
}
