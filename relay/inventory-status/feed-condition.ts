/** The condition of a Node object for a feed whose two ends differed. */
import { type NewCondition, timestamp } from '../../core/object/conditions.ts';
import type { Divergence } from '../../core/session/feed-alarm.ts';

const type = 'FeedDiverged';

export function feedCondition(divergence: Divergence | undefined): NewCondition {
  if (!divergence) return { type, status: 'False', reason: 'DigestsAgree', message: 'no difference was found lately' };
  const { atMs, what } = divergence;
  return {
    type,
    status: 'True',
    reason: 'DigestMismatch',
    message: `found at ${timestamp(atMs)} and reconciled: ${what}. Look at the disks and logs of both nodes; this is shown for a day`,
  };
}
