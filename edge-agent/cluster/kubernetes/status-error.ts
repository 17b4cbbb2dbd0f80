/** Makes an error from an unsuccessful answer of an API server. The error has the server's message, and the data of the answer's Status if there is one. */
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

/** The reasons of https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/types.go (StatusReason). */
const codeByReason = new Map<string, ErrorCode>(
  (Object.keys(errorTable) as ErrorCode[])
    .filter((code) => !['InternalError', ''].includes(errorTable[code].reason) && code !== 'Protocol')
    .map((code) => [errorTable[code].reason, code]),
);

const textBytesMax = 400;
const noAbsence =
  'an API server does not report a missing object like this: something in front of it answers, or it does not serve this kind now; check where the address in the kubeconfig leads';

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
 * The code for an answer without a reason. Proxies send such answers, and webhooks that give no reason. A 404 without a reason does not show that an object
 * is missing, so the agent must not forget an object: an ingress without a backend answers 404, and an API server answers 404 for a path that it does not
 * serve. Discovery knows which kinds are served.
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
