/** What a connection and its requests carry so that the API server knows the agent, and what is said when it can't be had. */
import type { RequestOptions } from 'node:https';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';

export type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'rejectUnauthorized' | 'headers' | 'auth'
>;

/** Why nobody can sign in now; tried again. */
export function unreadable(where: string, error: unknown): BanyanError {
  const message = `${where}: credentials can't be read: ${describeError(error)}`;
  return new BanyanError('Unauthorized', message, {}, { cause: error, retry: 'backoff' });
}
