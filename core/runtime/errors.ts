/**
 * The errors of the product: one class, its codes, and one table with the meaning of each code for Kubernetes clients and for gRPC peers. For a broken
 * invariant, the code throws a plain Error and no BanyanError. A plain Error ends the process.
 */

export type ErrorCode =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Expired'
  | 'TooLarge'
  | 'UnsupportedMediaType'
  | 'NotAcceptable'
  | 'Invalid'
  | 'NotTyped'
  | 'TooManyRequests'
  | 'Timeout'
  | 'Unavailable'
  | 'StoreFull'
  | 'StoreCorrupt'
  | 'StoreVersion'
  | 'Protocol'
  | 'Internal';

export type Retry = 'never' | 'backoff' | 'resync';

/** One wrong field, as in `details.causes` of a Kubernetes Status. */
export interface Cause {
  /** For example `FieldValueInvalid`, `FieldValueRequired`, `FieldValueNotSupported`. */
  readonly reason: string;
  readonly message: string;
  /** JSON path without the leading dot, for example `spec.locationSelectors[0].matchExpressions[0].operator`. */
  readonly field: string;
}

export interface ErrorDetails {
  readonly group?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
  /** Warnings for the user, from before the error. */
  readonly warnings?: readonly string[];
  /** The token with which a client may go on with a list. */
  readonly continueToken?: string;
}

export class BanyanError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  readonly retry: Retry;

  constructor(
    code: ErrorCode,
    message: string,
    details: ErrorDetails = {},
    options: { cause?: unknown; retry?: Retry } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'BanyanError';
    this.code = code;
    this.details = details;
    this.retry = options.retry ?? errorTable[code].retry;
  }
}

interface ErrorRow {
  /** HTTP status of a Kubernetes `Status`. */
  readonly http: number;
  /** `reason` of a Kubernetes `Status`. Empty: the Status has none. */
  readonly reason: string;
  /** gRPC status code, https://grpc.io/docs/guides/status-codes/ */
  readonly grpc: number;
  readonly retry: Retry;
}

export const errorTable: { readonly [code in ErrorCode]: ErrorRow } = {
  BadRequest: { http: 400, reason: 'BadRequest', grpc: 3, retry: 'never' },
  Unauthorized: { http: 401, reason: 'Unauthorized', grpc: 16, retry: 'never' },
  Forbidden: { http: 403, reason: 'Forbidden', grpc: 7, retry: 'never' },
  NotFound: { http: 404, reason: 'NotFound', grpc: 5, retry: 'never' },
  MethodNotAllowed: { http: 405, reason: 'MethodNotAllowed', grpc: 12, retry: 'never' },
  NotAcceptable: { http: 406, reason: 'NotAcceptable', grpc: 3, retry: 'never' },
  AlreadyExists: { http: 409, reason: 'AlreadyExists', grpc: 6, retry: 'never' },
  Conflict: { http: 409, reason: 'Conflict', grpc: 10, retry: 'never' },
  Gone: { http: 410, reason: 'Gone', grpc: 11, retry: 'resync' },
  Expired: { http: 410, reason: 'Expired', grpc: 11, retry: 'resync' },
  TooLarge: { http: 413, reason: 'RequestEntityTooLarge', grpc: 8, retry: 'never' },
  UnsupportedMediaType: { http: 415, reason: 'UnsupportedMediaType', grpc: 3, retry: 'never' },
  Invalid: { http: 422, reason: 'Invalid', grpc: 3, retry: 'never' },
  // The status of Kubernetes for a field that the type of an applied object does not have.
  NotTyped: { http: 500, reason: '', grpc: 3, retry: 'never' },
  TooManyRequests: { http: 429, reason: 'TooManyRequests', grpc: 8, retry: 'backoff' },
  Timeout: { http: 504, reason: 'Timeout', grpc: 4, retry: 'backoff' },
  Unavailable: { http: 503, reason: 'ServiceUnavailable', grpc: 14, retry: 'backoff' },
  StoreFull: { http: 507, reason: 'InternalError', grpc: 8, retry: 'backoff' },
  StoreCorrupt: { http: 500, reason: 'InternalError', grpc: 15, retry: 'never' },
  StoreVersion: { http: 500, reason: 'InternalError', grpc: 9, retry: 'never' },
  Protocol: { http: 400, reason: 'BadRequest', grpc: 3, retry: 'backoff' },
  Internal: { http: 500, reason: 'InternalError', grpc: 13, retry: 'backoff' },
};

/** True if the text, which another node sent, is one of the codes. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorTable, text);
}

/** The text of any thrown value, for messages and logs. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // If all addresses of a host name failed, the error of Node has no message. It has one error for each address instead.
  const causes: readonly unknown[] = error instanceof AggregateError && error.message === '' ? error.errors : [];
  return causes.length === 0 ? error.message : [...new Set(causes.map(describeError))].join('; ');
}
