/**
 * Limits the requests of a reconciling consumer, because the producer has to scan rows for each request. In one session, a producer answers one
 * reconciliation, and the numbers of its rounds must grow by one. All requests together may scan the table only as often as a correct consumer needs.
 */
import type { ReconcileRequest } from '../feed/feed.ts';
import { parts } from '../feed/reconcile-prefixes.ts';

/**
 * Limit for the scans of the whole table. A correct consumer asks each prefix at most once, so all prefixes of one length together cover the table at most
 * once. There are 33 lengths, from 0 to 32 digits. A million rows that all differ need six lengths.
 */
const wholesMax = 33;

export interface Questions {
  /** The number of the newest round. */
  readonly round: number;
  /** The part of the table that all requests up to this one have scanned. 1 means: the whole table once. */
  readonly wholes: number;
}

export const noQuestions: Questions = { round: 0, wholes: 0 };

export function withQuestion({ wholes }: Questions, { round, prefixes }: ReconcileRequest): Questions {
  return { round, wholes: prefixes.reduce((sum, { prefix }) => sum + parts ** -prefix.length, wholes) };
}

/** Describes why a correct consumer would not ask `next` after `before`. Undefined: the request is correct. */
export function flawOfQuestion(before: Questions, next: Questions): string | undefined {
  if (next.round !== before.round + 1)
    return `a reconcile request of round ${next.round} behind round ${before.round}: rounds grow by one`;
  if (next.wholes <= wholesMax) return undefined;
  return `reconcile requests for ${Math.ceil(next.wholes)} times the whole table; at most ${wholesMax} in a session`;
}
