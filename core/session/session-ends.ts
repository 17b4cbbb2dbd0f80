/** Why sessions end, in a bounded set of words for metrics; the message beside it is for people. */
import { BanyanError, type ErrorCode, type Retry } from '../runtime/errors.ts';

/** What is worth telling from others of the same code; the rest is counted by its code. */
export type SessionEnd =
  | 'InOrder'
  | 'CertificateExpired'
  | 'CreditExceeded'
  | 'DigestMismatch'
  | 'Silence'
  | 'TakenOver'
  | 'Other'
  | ErrorCode;

export class SessionError extends BanyanError {
  readonly end: SessionEnd;

  constructor(end: SessionEnd, code: ErrorCode, message: string, options: { readonly retry?: Retry } = {}) {
    super(code, message, {}, options);
    this.end = end;
  }
}

export function endOf(error: Error | undefined): SessionEnd {
  if (!error) return 'InOrder';
  if (error instanceof SessionError) return error.end;
  return error instanceof BanyanError ? error.code : 'Other';
}

/** What one side counts; metrics read it. */
export class SessionEnds {
  /** Only what has happened: as many as there are words at most. */
  readonly by = new Map<SessionEnd, number>();

  count(error: Error | undefined): void {
    const end = endOf(error);
    this.by.set(end, (this.by.get(end) ?? 0) + 1);
  }
}
