/**
 * What a consumer that reconciles has asked of a producer, which has to scan its rows for each question. One reconciliation is answered in a session, its
 * rounds are in order, and all its questions together are so many scans of the table as an honest consumer may come to need.
 */
import type { ReconcileRequest } from '../feed/feed.ts';
import { parts } from '../feed/reconcile-prefixes.ts';

/**
 * A search asks for what was split, each part once: all prefixes of one length are the whole table once at most, and there are lengths from 0 to 32 digits.
 * A million rows that all differ are found with six.
 */
const wholesMax = 33;

export interface Questions {
  /** The last one. */
  readonly round: number;
  /** How much of all key hashes was asked about: all of them once is 1. */
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
