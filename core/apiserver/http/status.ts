/** Errors as Kubernetes says them. */
import { BanyanError, describeError, errorTable } from '../../runtime/errors.ts';

export function statusOf(error: unknown): { http: number; body: object; retryAfterSeconds?: number } {
  const known = error instanceof BanyanError ? error : new BanyanError('Internal', describeError(error));
  const { http, reason } = errorTable[known.code];
  const { group, kind, name, causes, retryAfterSeconds } = known.details;
  const details = {
    ...(name ? { name } : {}),
    ...(group ? { group } : {}),
    ...(kind ? { kind } : {}),
    ...(causes && causes.length > 0 ? { causes } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: known.message,
    reason,
    ...(Object.keys(details).length > 0 ? { details } : {}),
    code: http,
  };
  return { http, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
}

export function successStatus(kind: string, group: string, name: string, uid: string | undefined): object {
  const details = { name, ...(group ? { group } : {}), kind, ...(uid ? { uid } : {}) };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
