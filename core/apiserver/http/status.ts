/** Errors as Kubernetes says them. */
import { BanyanError, describeError, errorTable } from '../../runtime/errors.ts';
import { negotiate } from './negotiate.ts';
import type { ApiResponse } from './requests.ts';

/**
 * The answer to a request that failed. Of a request for aggregated discovery it is the message alone: client-go reads no Status there, and kubectl would
 * say "unknown".
 */
export function failureOf(error: unknown, accept: string): ApiResponse {
  const { http, body, retryAfterSeconds } = kubernetesStatusOf(error);
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  if (negotiate(accept).as !== 'discovery')
    return { status: http, body: Buffer.from(`${JSON.stringify(body)}\n`), headers };
  return {
    status: http,
    body: Buffer.from(`${body.message}\n`),
    headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' },
  };
}

/** `details` is always there, as in kube-apiserver: clients (kubectl debug among them) look into it without asking. */
export function kubernetesStatusOf(error: unknown): {
  http: number;
  body: { message: string };
  retryAfterSeconds?: number;
} {
  const known = error instanceof BanyanError ? error : new BanyanError('Internal', describeError(error));
  const { http, reason } = errorTable[known.code];
  const { group, kind, name, retryAfterSeconds } = known.details;
  const causes = causesOf(known);
  const details = {
    ...(name ? { name } : {}),
    ...(group ? { group } : {}),
    ...(kind ? { kind } : {}),
    ...(causes.length > 0 ? { causes } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: known.message,
    reason,
    details,
    code: http,
  };
  return { http, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
}

/** A failure of the server is its own cause there. */
function causesOf({ code, message, details: { causes = [] } }: BanyanError): object[] {
  if (code === 'Internal' && causes.length === 0) return [{ message }];
  return causes.map(({ field, ...cause }) => (field === '' ? cause : { ...cause, field }));
}

export function successStatus(kind: string, group: string, name: string, uid: string | undefined): object {
  const details = { name, ...(group ? { group } : {}), kind, ...(uid ? { uid } : {}) };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
