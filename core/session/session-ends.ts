/** Why sessions end, in a bounded set of words for metrics; the message beside it is for people. */
import { BanyanError, type ErrorCode, type Retry } from '../runtime/errors.ts';

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

/** Why a listener let a connection go before it could be a session's. */
export const listenerRefusals = ['door', 'tls', 'certificate', 'proof', 'join', 'stream', 'no_session'] as const;

/**
 * Why a connection never came to a session. At the parent: what it told the child, or why it hung up without a word. At the child: what it was told, or
 * what it could not take.
 */
export const refusals = [
  'busy',
  'unknown_child',
  'version',
  'path',
  'clone',
  'superseded',
  'expired',
  'bad_hello',
  'bad_welcome',
  'no_hello',
  'no_welcome',
  'early_frames',
  'other',
] as const;
/** Metrics have a row for each: nothing that a peer chose is in them. */
export type Refusal = (typeof refusals)[number] | (typeof listenerRefusals)[number];

/** A word from the line is one of these, or any other. */
export function refusalOf(reason: string): Refusal {
  return refusals.find((known) => known === reason) ?? 'other';
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
