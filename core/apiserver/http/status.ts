/** Errors in the form that Kubernetes clients expect. */
import { jsonText } from '../../object/json.ts';
import { BanyanError, errorTable } from '../../runtime/errors.ts';
import { describeUnexpected } from '../../runtime/unexpected-error.ts';
import { preferredEncoding, prefersDiscovery } from './negotiate.ts';
import type { ApiResponse } from './requests.ts';
import { warned } from './warnings.ts';

/** For these statuses of an answer to aggregated discovery, client-go has words of its own, and hides the message: "could not find the requested resource". */
const hidesMessage: ReadonlySet<number> = new Set([400, 404]);

/**
 * The answer to a failed request. For aggregated discovery, the answer is only the message as text: client-go does not read a Status there, and kubectl
 * would print "unknown". The status is then one for which client-go shows the message. Otherwise nobody would learn that a URL names a space or node that does
 * not exist, because each kubectl command begins with discovery.
 */
export function failureOf(error: unknown, accept: string): ApiResponse {
  const { http, body, retryAfterSeconds, warnings = [] } = kubernetesStatusOf(error);
  const headers = {
    ...warned(warnings),
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  };
  if (!prefersDiscovery(accept)) {
    return { status: http, body: Buffer.from(`${jsonText(body)}\n`), headers, encoding: preferredEncoding(accept) };
  }
  return {
    status: hidesMessage.has(http) ? errorTable.Forbidden.http : http,
    body: Buffer.from(`${body.message}\n`),
    headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' },
  };
}

/** Makes the Status. It always has `details`, as in kube-apiserver, because some clients, for example kubectl debug, read `details` without a check. */
export function kubernetesStatusOf(error: unknown): {
  http: number;
  body: { message: string };
  retryAfterSeconds?: number;
  warnings?: readonly string[];
} {
  const failure = error instanceof BanyanError ? error : new BanyanError('Internal', describeUnexpected(error).reason);
  const { http, reason } = errorTable[failure.code];
  const { group, kind, name, retryAfterSeconds, continueToken, warnings } = failure.details;
  const causes = causesOf(failure);
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
    metadata: continueToken === undefined ? {} : { continue: continueToken },
    status: 'Failure',
    message: failure.message,
    ...(reason === '' ? {} : { reason }),
    details,
    code: http,
  };
  return {
    http,
    body,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(warnings ? { warnings } : {}),
  };
}

/** An internal error contains itself as its cause, as in kube-apiserver. */
function causesOf({ code, message, details: { causes = [] } }: BanyanError): object[] {
  if (code === 'Internal' && causes.length === 0) return [{ message }];
  return causes.map(({ field, ...cause }) => (field === '' ? cause : { ...cause, field }));
}

export function successStatus(kind: string, group: string, name: string, uid: string | undefined): object {
  const details = { name, ...(group ? { group } : {}), kind, ...(uid ? { uid } : {}) };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
