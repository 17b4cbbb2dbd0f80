/**
 * What the agent has applied without its store knowing of it comes on record: objects of another store, and those that are there again since the cluster was put
 * back to a backup. At each start, since nobody has seen what was done to the cluster before it, whenever the agent becomes active, and whenever the cluster is seen
 * to have been put back. Not before the parent has said all that is wanted. What is too much to be taken away at once is looked at again at the next start, and what
 * the cluster can't tell of also before.
 */

import type { DeletionLimits } from '../../core/feed/deletions.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Applied, AppliedInventory } from '../apply/applied-inventory.ts';
import type { FoundObjects } from '../cluster/cluster.ts';

const againMsMin = 1_000;
const againMsMax = 30_000;
/** What is broken by itself stays so for minutes or days, and each look lists every kind. */
const restMsMin = 30_000;
const restMsMax = 600_000;

export interface AppliedInventoryScanPorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: DeletionLimits;
}

/** An agent on its store and its cluster (assembly.ts). */
export interface ScannedAgent {
  readonly agent: { scanAppliedInventory(found: readonly Applied[], limits: DeletionLimits): AppliedInventory };
  applied(): Promise<FoundObjects> | undefined;
  /** Why it is not known what is applied. */
  hindered(why: string): void;
}

/** When stock is to be taken by an agent that may apply already. */
export class AppliedInventoryScan {
  readonly #of: () => ScannedAgent;
  readonly #ports: AppliedInventoryScanPorts;
  #isDue: boolean;
  #isCaughtUp = false;
  #isTaking = false;
  /** Counts: what an earlier one could not tell of, the newest one asks for. */
  #turn = 0;

  /** `isDue`: from the start. */
  constructor(of: () => ScannedAgent, ports: AppliedInventoryScanPorts, isDue: boolean) {
    this.#of = of;
    this.#ports = ports;
    this.#isDue = isDue;
  }

  /** Told at every attachment: what is wanted is known from the first one on. */
  caughtUp(): void {
    this.#isCaughtUp = true;
    void this.#take();
  }

  wentBack(): void {
    this.#ports.log.warn(
      {},
      'the cluster was put back to an earlier time: what this agent has applied there is looked for',
    );
    this.#isDue = true;
    void this.#take();
  }

  async #take(): Promise<void> {
    if (this.#isTaking) return;
    this.#isTaking = true;
    while (this.#isDue && this.#isCaughtUp) {
      this.#isDue = false;
      const turn = ++this.#turn;
      await scanAppliedInventory(this.#of(), this.#ports, () => turn !== this.#turn);
    }
    this.#isTaking = false;
  }
}

/** Asks until the cluster has answered, or `isOver`. What it can't tell of is asked for behind that, and nothing waits for it: what is not on record stays as it is. */
export async function scanAppliedInventory(
  of: ScannedAgent,
  ports: AppliedInventoryScanPorts,
  isOver: () => boolean,
): Promise<void> {
  for (let waitMs = againMsMin; !isOver(); waitMs = Math.min(againMsMax, 2 * waitMs)) {
    try {
      if (!(await look(of, ports, isOver))) void takeRest(of, ports, isOver);
      return;
    } catch (error) {
      const why = describeError(error);
      ports.log.warn({ error: why }, 'what was applied by another store is not known yet');
      of.hindered(why);
      await after(ports, waitMs);
    }
  }
}

async function takeRest(of: ScannedAgent, ports: AppliedInventoryScanPorts, isOver: () => boolean): Promise<void> {
  for (let waitMs = restMsMin; ; waitMs = Math.min(restMsMax, 2 * waitMs)) {
    await after(ports, waitMs);
    try {
      if (isOver() || (await look(of, ports, isOver))) return;
    } catch (error) {
      ports.log.warn({ error: describeError(error) }, 'the rest of what was applied by another store is not known yet');
    }
  }
}

/** Whether nothing was left that can't be known now. */
async function look(of: ScannedAgent, ports: AppliedInventoryScanPorts, isOver: () => boolean): Promise<boolean> {
  const { log, limits } = ports;
  const { objects, unknown } = (await of.applied()) ?? { objects: [], unknown: [] };
  if (isOver()) return true;
  const { records, kept } = of.agent.scanAppliedInventory(objects, limits);
  if (records.size > 0) log.info({ objects: records.size }, 'what was applied by another store is on record now');
  if (kept.size > 0) log.error({ objects: kept.size, sample: [...kept.keys()].slice(0, 5) }, tooMany);
  if (unknown.length > 0) log.warn({ resources: unknown }, someUnknown);
  return unknown.length === 0;
}

function after({ clock }: AppliedInventoryScanPorts, ms: number): Promise<void> {
  return new Promise((resolve) => clock.after(ms, resolve));
}

const someUnknown =
  "these resources can't be listed now, and are asked for again: what another store applied of them stays as it is until then, and all else goes on";
const tooMany = `no placement wants these objects that this agent applied, and they are too many to be removed at once: they stay until a person approves their removal (${cliCommand('approve-deletions', 'PATH')})`;
