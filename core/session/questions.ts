/**
 * Counts what a reconciling consumer has asked of a producer, which has to scan rows for each request. In one session a producer answers one reconciliation,
 * with rounds in order. All requests together may scan the table as often as an honest consumer may need.
 */
import type { ReconcileRequest } from '../feed/feed.ts';
import { parts } from '../feed/reconcile-prefixes.ts';

/**
 * A search asks for the parts of a split, each part once. So all prefixes of one length cover the table at most once, and lengths go from 0 to 32 digits. A
 * million rows that all differ need six lengths.
 */
const wholesMax = 33;

export interface Questions {
  /** The number of the newest round. */
  readonly round: number;
  /** The share of all key hashes that the requests so far cover: 1 for the whole table once. */
  readonly wholes: number;
}

export const noQuestions: Questions = { round: 0, wholes: 0 };

export function withQuestion({ wholes }: Questions, { round, prefixes }: ReconcileRequest): Questions {
  return { round, wholes: prefixes.reduce((sum, { prefix }) => sum + parts ** -prefix.length, wholes) };
}

/** Why no honest consumer asks `next` behind `before`. */
export function flawOfQuestion(before: Questions, next: Questions): string | undefined {
  if (next.round !== before.round + 1)
    return `a reconcile request of round ${next.round} behind round ${before.round}: rounds grow by one`;
  if (next.wholes <= wholesMax) return undefined;
  return `reconcile requests for ${Math.ceil(next.wholes)} times the whole table; at most ${wholesMax} in a session`;
}
