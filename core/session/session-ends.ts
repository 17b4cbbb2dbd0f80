/** Why sessions end, in a bounded set of words for metrics; the message beside it is for people. */
import { BanyanError, type ErrorCode, type Retry } from '../runtime/errors.ts';
import type { Refusal } from '../wire/refusals.ts';

/** What is worth telling from others of the same code; the rest is counted by its code. */
export type SessionEnd =
  | 'InOrder'
  | 'CertificateExpired'
  | 'CreditExceeded'
  /** The peer is not ready any more, in the middle of a reconciliation by what it lacks. */
  | 'ReadyWithdrawn'
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
  readonly refused = new Map<Refusal, number>();
  /** Only what has happened: as many as there are words at most. */
  readonly by = new Map<SessionEnd, number>();

  /** Dials that led to no connection: a proxy or gateway that answers something else, a name that nobody has, a certificate of another tree. */
  readonly undialed = new Map<SessionEnd, number>();

  notReached(error: unknown): void {
    const end = endOf(error instanceof Error ? error : new Error(String(error)));
    this.undialed.set(end, (this.undialed.get(end) ?? 0) + 1);
  }

  refuse(refusal: Refusal): void {
    this.refused.set(refusal, (this.refused.get(refusal) ?? 0) + 1);
  }

  count(error: Error | undefined): void {
    const end = endOf(error);
    this.by.set(end, (this.by.get(end) ?? 0) + 1);
  }
}
