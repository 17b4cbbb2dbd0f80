/**
 * Once for each store, and whenever another store of the agent was active: what the agent has applied without this store knowing of it comes on record. Not before
 * the parent has said all that is wanted.
 */

import type { DeletionLimits } from '../core/feed/deletions.ts';
import type { Clock } from '../core/runtime/clock.ts';
import { describeError } from '../core/runtime/errors.ts';
import type { Logger } from '../core/runtime/logger.ts';
import type { AssembledAgent } from './assembly.ts';

const againMsMin = 1_000;
const againMsMax = 30_000;

export interface StockTakingPorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: DeletionLimits;
}

/** Asks until the cluster has answered, or `isOver`; true: it has, and all is on record. */
export async function takeStock(
  assembled: Pick<AssembledAgent, 'agent' | 'applied'>,
  { clock, log, limits }: StockTakingPorts,
  isOver: () => boolean,
): Promise<boolean> {
  for (let waitMs = againMsMin; !isOver(); waitMs = Math.min(againMsMax, 2 * waitMs)) {
    try {
      const found = (await assembled.applied()) ?? [];
      if (isOver()) return false;
      const { records, kept } = assembled.agent.takeStock(found, limits);
      if (records.size > 0) log.info({ objects: records.size }, 'what was applied by another store is on record now');
      if (kept.length > 0) {
        log.error(
          { objects: kept.length, sample: kept.slice(0, 5) },
          'nobody wants these objects that this agent has applied, and they are too many to be taken away at once: they stay; delete them by hand, or raise limits.deletions',
        );
      }
      return true;
    } catch (error) {
      log.warn({ error: describeError(error) }, 'what was applied by another store is not known yet');
      await new Promise<void>((resolve) => clock.after(waitMs, resolve));
    }
  }
  return false;
}
