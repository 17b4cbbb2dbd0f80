/**
 * Once for each store, and whenever another store of the agent was active: what the agent has applied without this store knowing of it comes on record. Not before
 * the parent has said all that is wanted. What is too much to be taken away at once is looked at again at the next start.
 */
import type { DeletionLimits } from '../core/feed/deletions.ts';
import type { Clock } from '../core/runtime/clock.ts';
import { describeError } from '../core/runtime/errors.ts';
import type { Logger } from '../core/runtime/logger.ts';
import type { Random } from '../core/runtime/random.ts';
import type { Store } from '../core/store/store.ts';
import type { Applied, Stock } from './apply/stock.ts';
import { noteInLeaseMemory } from './lease/lease-memory.ts';

const againMsMin = 1_000;
const againMsMax = 30_000;

export interface StockTakingPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly limits: DeletionLimits;
}

/** An agent on its store and its cluster (assembly.ts). */
export interface Stocked {
  readonly agent: { takeStock(found: readonly Applied[], limits: DeletionLimits): Stock };
  applied(): Promise<readonly Applied[]> | undefined;
  /** Why it is not known what is applied. */
  hindered(why: string): void;
}

/** Asks until the cluster has answered, or `isOver`. */
export async function takeStock(of: Stocked, ports: StockTakingPorts, isOver: () => boolean): Promise<void> {
  const { store, clock, random, log, limits } = ports;
  for (let waitMs = againMsMin; !isOver(); waitMs = Math.min(againMsMax, 2 * waitMs)) {
    try {
      const found = (await of.applied()) ?? [];
      if (isOver()) return;
      const { records, kept } = of.agent.takeStock(found, limits);
      if (records.size > 0) log.info({ objects: records.size }, 'what was applied by another store is on record now');
      if (kept.size > 0) log.error({ objects: kept.size, sample: [...kept.keys()].slice(0, 5) }, tooMany);
      else noteInLeaseMemory(store, random, { tookStock: true });
      return;
    } catch (error) {
      const why = describeError(error);
      log.warn({ error: why }, 'what was applied by another store is not known yet');
      of.hindered(why);
      await new Promise<void>((resolve) => clock.after(waitMs, resolve));
    }
  }
}

const tooMany =
  'nobody wants these objects that this agent has applied, and they are too many to be taken away at once: they stay until they are released (`banyan release PATH`)';
