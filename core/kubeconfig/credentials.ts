/** The credentials of connections and requests to an API server, and the error when the credentials can't be read. */
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { BanyanError, describeError } from '../runtime/errors.ts';
import type { ClusterAccess, Source } from './kubeconfig.ts';

export type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'rejectUnauthorized' | 'headers' | 'auth'
>;

/** Reads the certificates and the token. Throws Unauthorized if one can't be read; `where` names the kubeconfig. */
export async function credentialsBy(access: ClusterAccess, where: string): Promise<Credentials> {
  const { serverName, skipsVerification } = access;
  try {
    const sources = [access.ca, access.cert, access.key, access.token];
    const [ca, cert, key, token] = await Promise.all(sources.map(contentOf));
    return {
      ...(ca ? { ca } : {}),
      ...(cert ? { cert } : {}),
      ...(key ? { key } : {}),
      ...(token ? { headers: { Authorization: `Bearer ${token.toString('utf8').trim()}` } } : {}),
      ...(serverName ? { servername: serverName } : {}),
      ...(skipsVerification ? { rejectUnauthorized: false } : {}),
    };
  } catch (error) {
    throw unreadable(where, error);
  }
}

/** The error while nobody can sign in. An agent tries again. */
export function unreadable(where: string, error: unknown): BanyanError {
  const message = `${where}: credentials can't be read: ${describeError(error)}`;
  return new BanyanError('Unauthorized', message, {}, { cause: error, retry: 'backoff' });
}

async function contentOf(source: Source | undefined): Promise<Buffer | undefined> {
  return source && ('content' in source ? source.content : readFile(source.file));
}
