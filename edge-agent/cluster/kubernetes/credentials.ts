/** The credentials of connections and requests to the API server, and the error when the credentials can't be read. */
import type { RequestOptions } from 'node:https';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';

export type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'rejectUnauthorized' | 'headers' | 'auth'
>;

/** The error while the agent can't sign in. The agent tries again. */
export function unreadable(where: string, error: unknown): BanyanError {
  const message = `${where}: credentials can't be read: ${describeError(error)}`;
  return new BanyanError('Unauthorized', message, {}, { cause: error, retry: 'backoff' });
}
