/**
 * Checks the partial that a child reports for a placement: the counts must be possible together, and all paths must be at or below the child. An agent must
 * report exactly one destination. For a relay, the parent cannot check the number of destinations, because only the relay knows it.
 */

import { isAtOrBelow } from '../identity/node-path.ts';
import { BanyanError } from '../runtime/errors.ts';
import { countNames, decodePartial } from '../summary/partial.ts';
import type { ReportingChild } from './entry-kind.ts';

/** Names of the counts that only destinations with a report can raise. */
const countsOfReported = countNames.slice(countNames.indexOf('synced'));

/** Throws Protocol. */
export function checkPartial({ path, role }: ReportingChild, body: Uint8Array): void {
  const { counts, failures } = decodePartial(body);
  const { expected, fresh, stale, never, quarantined } = counts;
  const reported = fresh + quarantined;
  if (role === 'agent' && (expected !== 1 || reported !== 1)) {
    throw flaw(
      `counts.expected ${expected}, fresh ${fresh} and quarantined ${quarantined}: an agent is exactly one destination that has reported`,
    );
  }
  if (fresh + stale + never + quarantined !== expected) {
    throw flaw(
      `counts.expected ${expected} is not the sum of fresh ${fresh}, stale ${stale}, never ${never} and quarantined ${quarantined}`,
    );
  }
  const tooHigh = countsOfReported.find((name) => counts[name] > reported);
  if (tooHigh) {
    throw flaw(
      `counts.${tooHigh} ${counts[tooHigh]} is more than fresh ${fresh} and quarantined ${quarantined} together`,
    );
  }
  const foreign = failures.find((failure) => !isAtOrBelow(failure.path, path));
  if (foreign) throw flaw(`failures of "${foreign.path}", which is not "${path}" or below it`);
}

function flaw(what: string): BanyanError {
  return new BanyanError('Protocol', `an invalid partial: ${what}`);
}
