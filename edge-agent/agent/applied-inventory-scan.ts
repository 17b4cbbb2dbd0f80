/**
 * Writes records of objects that the agent has applied and that its store does not know: objects of another store, and objects that exist again because the
 * cluster was restored from a backup. The scan runs at each start, because nobody has seen what happened to the cluster before the start. It also runs
 * whenever the agent becomes active, and whenever the agent sees that the cluster was restored. It never runs before the parent has sent everything that is
 * desired. If too many objects would be removed at once, the scan removes none, and the next start looks at them again. If the cluster can't list some
 * resources, the scan asks for these resources again before the next start.
 */

import type { DeletionLimits } from '../../core/feed/deletions.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Applied, AppliedInventory } from '../apply/applied-inventory.ts';
import type { FoundObjects } from '../cluster/cluster.ts';

const retryMsMin = 1_000;
const retryMsMax = 30_000;
/** Waits before further scans for resources that the cluster could not list. This state lasts minutes or days, and each scan lists every kind. */
const restRetryMsMin = 30_000;
const restRetryMsMax = 600_000;

export interface AppliedInventoryScanPorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: DeletionLimits;
}

/** An agent with its store and its cluster (assembly.ts). */
export interface ScannedAgent {
  readonly agent: { scanAppliedInventory(found: readonly Applied[], limits: DeletionLimits): AppliedInventory };
  applied(): Promise<FoundObjects> | undefined;
  /** Reports why the agent does not know yet what is applied. */
  scanFailed(why: string): void;
}

/** Decides when to scan. For an agent that is already allowed to apply. */
export class AppliedInventoryScan {
  readonly #scanned: () => ScannedAgent;
  readonly #ports: AppliedInventoryScanPorts;
  #isDue: boolean;
  #isCaughtUp = false;
  #isScanning = false;
  /** The number of the newest scan. An older scan stops: the newest one also asks for the resources that the older one could not list. */
  #turn = 0;

  /** `isDue`: a scan is due from the start. */
  constructor(of: () => ScannedAgent, ports: AppliedInventoryScanPorts, isDue: boolean) {
    this.#scanned = of;
    this.#ports = ports;
    this.#isDue = isDue;
  }

  /** Called at every attachment. From the first attachment on, the agent knows what is desired. */
  caughtUp(): void {
    this.#isCaughtUp = true;
    void this.#scan();
  }

  wentBack(): void {
    this.#ports.log.warn(
      {},
      'the cluster was put back to an earlier time: this agent looks for the objects that it has applied there',
    );
    this.#isDue = true;
    void this.#scan();
  }

  async #scan(): Promise<void> {
    if (this.#isScanning) return;
    this.#isScanning = true;
    while (this.#isDue && this.#isCaughtUp) {
      this.#isDue = false;
      const turn = ++this.#turn;
      await scanAppliedInventory(this.#scanned(), this.#ports, () => turn !== this.#turn);
    }
    this.#isScanning = false;
  }
}

/**
 * Asks until the cluster has answered, or until `isOver`. Asks in the background for resources that the cluster could not list. Nobody waits for these
 * resources: objects that are not on record stay as they are.
 */
export async function scanAppliedInventory(
  of: ScannedAgent,
  ports: AppliedInventoryScanPorts,
  isOver: () => boolean,
): Promise<void> {
  for (let waitMs = retryMsMin; !isOver(); waitMs = Math.min(retryMsMax, 2 * waitMs)) {
    try {
      if (!(await look(of, ports, isOver))) void scanRest(of, ports, isOver);
      return;
    } catch (error) {
      const why = describeError(error);
      ports.log.warn(
        { error: why },
        'the agent does not know yet which objects another store has applied: it tries again',
      );
      of.scanFailed(why);
      await delay(ports, waitMs);
    }
  }
}

async function scanRest(of: ScannedAgent, ports: AppliedInventoryScanPorts, isOver: () => boolean): Promise<void> {
  for (let waitMs = restRetryMsMin; ; waitMs = Math.min(restRetryMsMax, 2 * waitMs)) {
    await delay(ports, waitMs);
    try {
      if (isOver() || (await look(of, ports, isOver))) return;
    } catch (error) {
      ports.log.warn(
        { error: describeError(error) },
        'the agent does not know yet which further objects another store has applied: it tries again',
      );
    }
  }
}

/** Looks once. Returns true if the cluster could list all resources. */
async function look(of: ScannedAgent, ports: AppliedInventoryScanPorts, isOver: () => boolean): Promise<boolean> {
  const { log, limits } = ports;
  const { objects, unknown } = (await of.applied()) ?? { objects: [], unknown: [] };
  if (isOver()) return true;
  const { records, kept } = of.agent.scanAppliedInventory(objects, limits);
  if (records.size > 0) log.info({ objects: records.size }, 'objects that another store has applied are on record now');
  if (kept.size > 0) log.error({ objects: kept.size, sample: [...kept.keys()].slice(0, 5) }, tooMany);
  if (unknown.length > 0) log.warn({ resources: unknown }, someUnknown);
  return unknown.length === 0;
}

function delay({ clock }: AppliedInventoryScanPorts, ms: number): Promise<void> {
  return new Promise((resolve) => clock.after(ms, resolve));
}

const someUnknown =
  "these resources can't be listed now. The agent tries again. Until then, objects of these resources that another store has applied stay as they are, and all other work goes on";
const tooMany = `no placement wants these objects, which this agent has applied, and they are too many to remove at once: they stay until a person approves their removal (${cliCommand('approve-deletions', 'PATH')})`;
