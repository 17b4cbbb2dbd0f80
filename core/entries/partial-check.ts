/**
 * What a child may say of a placement: numbers that can be, of its own destinations. An agent is one destination, whatever it says; how many a relay has below it
 * is known to nobody better.
 */

import { isAtOrBelow } from '../identity/node-path.ts';
import { BanyanError } from '../runtime/errors.ts';
import { countNames, decodePartial } from '../summary/partial.ts';
import type { ReportingChild } from './entry-kind.ts';

/** Counts of destinations of which more is known than that they are there. */
const known = countNames.slice(countNames.indexOf('synced'));

/** Throws Protocol. */
export function checkPartial({ path, role }: ReportingChild, body: Uint8Array): void {
  const { counts, failures } = decodePartial(body);
  const { expected, fresh, stale, never, quarantined } = counts;
  const heard = fresh + quarantined;
  if (role === 'agent' && (expected !== 1 || heard !== 1)) {
    throw flaw(
      `counts.expected ${expected}, fresh ${fresh} and quarantined ${quarantined}: an agent is exactly one destination that has reported`,
    );
  }
  if (fresh + stale + never + quarantined !== expected) {
    throw flaw(
      `counts.expected ${expected} is not the sum of fresh ${fresh}, stale ${stale}, never ${never} and quarantined ${quarantined}`,
    );
  }
  const more = known.find((name) => counts[name] > heard);
  if (more) {
    throw flaw(`counts.${more} ${counts[more]} is more than fresh ${fresh} and quarantined ${quarantined} together`);
  }
  const other = failures.find((failure) => !isAtOrBelow(failure.path, path));
  if (other) throw flaw(`failures of "${other.path}", which is not "${path}" or below it`);
}

function flaw(what: string): BanyanError {
  return new BanyanError('Protocol', `a partial that can't be: ${what}`);
}
