/** An answer of an API server that is no success, as an error of this program: with the server's words and, where it has one, its Status. */
import { BanyanError, type Cause, type ErrorCode, errorTable } from '../../../core/runtime/errors.ts';
import { refusedCredentials } from './plain-messages.ts';

interface Status {
  readonly kind?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly group?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly Partial<Cause>[];
  };
}

/** By https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/types.go (StatusReason). */
const codeByReason = new Map<string, ErrorCode>(
  (Object.keys(errorTable) as ErrorCode[])
    .filter((code) => errorTable[code].reason !== 'InternalError' && code !== 'Protocol')
    .map((code) => [errorTable[code].reason, code]),
);

const textBytesMax = 400;
const noAbsence =
  'no API server says of an object that it is not there: something in front of it answers, or it does not serve this kind now; look at what the address in the kubeconfig leads to';

export function errorOfStatus(http: number, text: string, retryAfter: string | undefined, server: string): BanyanError {
  const status = statusOf(text);
  const code = codeByReason.get(status.reason ?? '') ?? codeByHttp(http);
  const plain = text.trim().slice(0, textBytesMax);
  const answered = `${server} answered ${http}${plain === '' ? '' : `: ${plain}`}`;
  const words = status.message || (http === 404 ? `${answered} (${noAbsence})` : answered);
  const message = code === 'Unauthorized' ? `${words}: ${refusedCredentials}` : words;
  const { group, kind, name, causes, retryAfterSeconds = secondsOf(retryAfter) } = status.details ?? {};
  const mayAgain = http === 429 || http === 503 ? retryAfterSeconds : undefined;
  return new BanyanError(code, message, {
    ...(group === undefined ? {} : { group }),
    ...(kind === undefined ? {} : { kind }),
    ...(name === undefined ? {} : { name }),
    ...(causes === undefined ? {} : { causes: causes.map(wholeCause) }),
    ...(mayAgain === undefined ? {} : { retryAfterSeconds: mayAgain }),
  });
}

function statusOf(text: string): Status {
  try {
    const parsed = JSON.parse(text) as Status | null;
    return parsed?.kind === 'Status' ? parsed : {};
  } catch {
    return {};
  }
}

/**
 * For answers without a reason: those of proxies, and of webhooks that say no more. A 404 is none that an object is not there, by which it would be forgotten: an
 * ingress without a backend gives it, and an API server of a path that it does not serve; what is served, its discovery knows.
 */
function codeByHttp(http: number): ErrorCode {
  if (http === 404) return 'Unavailable';
  if (http === 409) return 'Conflict';
  if (http === 500) return 'Internal';
  const found = [...codeByReason.values()].find((code) => errorTable[code].http === http);
  return found ?? (http >= 500 ? 'Unavailable' : 'BadRequest');
}

function secondsOf(header: string | undefined): number | undefined {
  const seconds = Number(header);
  return header !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

function wholeCause({ reason = '', message = '', field = '' }: Partial<Cause>): Cause {
  return { reason, message, field };
}
