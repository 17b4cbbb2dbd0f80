/** The credentials of connections and requests for the API server, and the error when they can't be read. */
import type { RequestOptions } from 'node:https';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';

export type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'rejectUnauthorized' | 'headers' | 'auth'
>;

/** Why nobody can sign in now. The agent tries again. */
export function unreadable(where: string, error: unknown): BanyanError {
  const message = `${where}: credentials can't be read: ${describeError(error)}`;
  return new BanyanError('Unauthorized', message, {}, { cause: error, retry: 'backoff' });
}
