/** Counts sessions by the reason of their end. The reasons are a bounded set of codes, for metrics. Each error also has a message, for people. */
import { BanyanError, type ErrorCode, type Retry } from '../runtime/errors.ts';
import type { Refusal } from '../wire/refusals.ts';

/** Reason of an end. Some ends have their own code here, although they share an error code with others. All other ends are counted by their error code. */
export type SessionEnd =
  | 'InOrder'
  | 'CertificateExpired'
  | 'CreditExceeded'
  /** The peer withdrew its readiness in the middle of a reconciliation. */
  | 'ReadyWithdrawn'
  | 'DigestMismatch'
  /** The table of the peer's entries has room again for entries that the quota of the peer has refused. */
  | 'RoomAgain'
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

/** The counts of one side, for metrics. */
export class SessionEnds {
  readonly refused = new Map<Refusal, number>();
  /** Number of ended sessions, keyed by reason. Has only reasons that occurred. Bound: the number of codes. */
  readonly by = new Map<SessionEnd, number>();

  /**
   * Number of dials without a connection, keyed by reason. Examples: a proxy or gateway gave a wrong answer, the host name is unknown, or the certificate is of
   * another tree.
   */
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
