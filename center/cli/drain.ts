/** `banyan cordon`, `uncordon` and `drain`: whether clusters get new placements, and whether they have any. */
import { shownPath } from '../../core/identity/node-path.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { meshObjects } from './object-paths.ts';
import { patchTarget, type TreeApi, type TreeTarget, targetsAt } from './tree-targets.ts';

export interface DrainPorts {
  readonly clock: Clock;
  warn(line: string): void;
  print(line: string): void;
  pause(ms: number): Promise<void>;
}

const lookEveryMs = 200;

/** Returns what the person reads. */
export async function cordon(api: TreeApi, path: string, ports: Pick<DrainPorts, 'warn'>): Promise<string> {
  const paths = await patchAll(api, path, { unschedulable: true }, 'cordon', ports);
  return `${paths.join(', ')}: no new placements from now on; present ones stay`;
}

export async function uncordon(api: TreeApi, path: string, ports: Pick<DrainPorts, 'warn'>): Promise<string> {
  const paths = await patchAll(api, path, { unschedulable: null, evictAfter: null }, 'uncordon', ports);
  return `${paths.join(', ')}: placements may come again`;
}

/** Resolves with the paths of the clusters when no delivered object is left at them. Throws Timeout, which names the clusters that still have some; the drain goes on. */
export async function drain(api: TreeApi, path: string, timeoutMs: number, ports: DrainPorts): Promise<string[]> {
  const { clock, pause } = ports;
  const evictAfter = timestamp(clock.wallMs());
  const paths = await patchAll(api, path, { unschedulable: true, evictAfter }, 'drain', ports);
  const deadline = clock.monotonicMs() + timeoutMs;
  for (;;) {
    const left = await undrained(api, path);
    if (left.size === 0) return paths;
    if (clock.monotonicMs() > deadline) {
      const list = [...left].map(([one, reason]) => `${one} (${reason})`).join(', ');
      throw new BanyanError(
        'Timeout',
        `not drained after ${timeoutMs / 1000} s: ${list}; the drain goes on, --timeout SECONDS waits longer`,
      );
    }
    await pause(lookEveryMs);
  }
}

/** The clusters that still have delivered objects, or that can't say so, with the reason. */
export async function undrained(api: TreeApi, path: string): Promise<ReadonlyMap<string, string>> {
  const { targets, silent } = await targetsAt(api, path);
  const left = new Map(silent);
  const paths = new Set(targets.map((one) => one.path));
  for (const one of paths) {
    // Each replica of the parent shows the agent; only the replica to which it is attached knows it now.
    const states = await Promise.all(
      targets.filter((target) => target.path === one).map((target) => stateOf(api, target)),
    );
    if (!states.some(({ isDrained }) => isDrained)) left.set(one, states[0]!.reason);
  }
  return left;
}

async function stateOf(api: TreeApi, { context, target }: TreeTarget): Promise<{ isDrained: boolean; reason: string }> {
  const { attachedTo, delivered } = (target.status ?? {}) as { attachedTo?: string; delivered?: boolean };
  if (attachedTo === undefined) return { isDrained: false, reason: 'its agent is not connected' };
  const mailbox = await api.get(context, `${meshObjects}/mailboxes/${target.metadata.name}`);
  const { backlogEntries = 0 } = (mailbox?.status ?? {}) as { backlogEntries?: number };
  if (backlogEntries > 0) return { isDrained: false, reason: `its agent has not received ${backlogEntries} entries` };
  return { isDrained: delivered === false, reason: 'delivered objects are left' };
}

/** Changes all SyncTargets at and below the path. Returns the paths. Throws NotFound if there are none. */
async function patchAll(
  api: TreeApi,
  path: string,
  spec: object,
  command: string,
  { warn }: Pick<DrainPorts, 'warn'>,
): Promise<string[]> {
  const { targets, silent } = await targetsAt(api, path);
  if (targets.length === 0) {
    const [why] = silent.values();
    if (why !== undefined) throw new BanyanError('Unavailable', `${command}: ${why}`);
    throw new BanyanError(
      'NotFound',
      `${command}: there is no cluster at or below "${shownPath(path)}"; for a list: ${cliCommand('tree')}`,
    );
  }
  for (const target of targets) await patchTarget(api, target, spec);
  for (const [context, reason] of silent) {
    warn(`${context} does not answer (${reason}); when it does: ${cliCommand(command, shownPath(path))}`);
  }
  return [...new Set(targets.map((one) => one.path))];
}
