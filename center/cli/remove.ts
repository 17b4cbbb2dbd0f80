/**
 * `banyan remove PATH`: takes a node out of the tree for good, with everything below it. First its clusters are drained, if the person wants this. Then its
 * certificates end, and its parent forgets it.
 */
import { isAtOrBelow, isBelow, nameOf, parentOf, sharedPath, shownPath } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { useEach } from './admission.ts';
import { type DrainPorts, drain } from './drain.ts';
import { isNodeContext, nodeContexts, nodeIn } from './node-contexts.ts';
import { locations, nodeObject, nodeObjects, syncTargets } from './object-paths.ts';
import { revokeNode } from './revoke.ts';
import { removeObject, type TreeApi, targetsAt } from './tree-targets.ts';
import { UsageError } from './usage-error.ts';

export interface RemoveOptions {
  /** Objects stay at the clusters. */
  readonly orphan: boolean;
  /** Objects are removed from the clusters first. */
  readonly deleteWorkloads: boolean;
  /** Does not wait for nodes that do not answer. */
  readonly force: boolean;
  readonly timeoutMs: number;
}

/** Refuses a removal that would take workloads away, or leave them behind, without a word of the person. Changes nothing. */
export async function checkRemoval(api: TreeApi, path: string, options: RemoveOptions): Promise<void> {
  const { orphan, deleteWorkloads, force } = options;
  if (orphan && deleteWorkloads) {
    throw new UsageError(
      'remove: --orphan leaves the objects at the clusters, --delete-workloads deletes them: give one of the two',
    );
  }
  if (orphan || deleteWorkloads) return;
  const { targets, silent } = await targetsAt(api, path);
  const full = targets.filter(
    ({ target }) => (target.status as { delivered?: boolean } | undefined)?.delivered !== false,
  );
  const named = [...new Set(full.map((one) => one.path))];
  const remedy = '--delete-workloads deletes them first, --orphan leaves them there';
  if (named.length > 0) {
    throw new UsageError(`remove: there are delivered objects at ${named.join(', ')}, or nobody knows: ${remedy}`);
  }
  const [context] = silent.keys();
  if (context !== undefined && !force) {
    throw new BanyanError(
      'Unavailable',
      `remove: ${context} does not answer, so nobody knows what is at its clusters: ${remedy}; --force does not wait for it`,
    );
  }
}

/** Drains the clusters, if the person wants their objects deleted. With `force`, clusters that do not answer in time are left as they are. */
export async function drainFirst(api: TreeApi, path: string, options: RemoveOptions, ports: DrainPorts): Promise<void> {
  const { deleteWorkloads, force, timeoutMs } = options;
  if (!deleteWorkloads) return;
  try {
    await drainAll(api, path, timeoutMs, ports);
  } catch (error) {
    if (!force || !(error instanceof BanyanError) || !['Timeout', 'Unavailable'].includes(error.code)) throw error;
    ports.warn(`${error.message}; removed all the same (--force): objects may be left there`);
  }
}

/** Drains the clusters at and below the path, if there are any, and says so. */
export async function drainAll(api: TreeApi, path: string, timeoutMs: number, ports: DrainPorts): Promise<void> {
  if ((await targetsAt(api, path)).targets.length === 0) return;
  ports.print(`drained: ${(await drain(api, path, timeoutMs, ports)).join(', ')}`);
}

/** Takes a node out of the tree, without its workloads. Throws Timeout, which names the nodes that still show the node. */
export async function forget(api: TreeApi, id: string, ports: DrainPorts): Promise<void> {
  await withdraw(api, id, ports);
  await untilForgotten(api, id, ports);
}

/**
 * Ends the certificates of the node, and makes every replica of its parent forget it, with all rows about it and the nodes below it. `id`: the path, or one
 * replica of a relay (`eu~1`), whose path stays. Does nothing that was done already.
 */
async function withdraw(api: TreeApi, id: string, ports: Pick<DrainPorts, 'clock' | 'warn'>): Promise<void> {
  const { clock, warn } = ports;
  const isOneReplica = splitReplica(nameOf(id)).replica > 0;
  if (!isOneReplica) await revokeNode(api, id, clock, () => {});
  const contexts = nodeContexts(api.contexts(), parentOf(id));
  const silent = new Map<string, string>();
  await useEach(
    contexts.map((context) => ({ context })),
    silent,
    async ({ context }) => {
      const [target, location] = [`${syncTargets}/${nameOf(id)}`, `${locations}/${nameOf(id)}`];
      if (await api.get(context, target)) {
        // A Location with a selector is not the Location of this cluster alone.
        const { spec } = (await api.get(context, location)) ?? { spec: undefined };
        if ((spec as { instanceSelector?: object } | undefined)?.instanceSelector === undefined)
          await removeObject(api, context, location);
        await removeObject(api, context, target);
      }
      await removeObject(api, context, nodeObject(id));
    },
  );
  for (const [context, reason] of silent) {
    warn(
      `${context} still knows ${id} (${reason}); when it answers: ${cliCommand('remove', id, '--orphan', '--force')}`,
    );
  }
}

/** Waits until no node above knows the node: the relays report it with their next reports. Throws Timeout, which names the nodes that still show it. */
async function untilForgotten(api: TreeApi, id: string, ports: DrainPorts): Promise<void> {
  const { clock, pause } = ports;
  const deadline = clock.monotonicMs() + forgottenWithinMs;
  const above = api.contexts().filter((context) => isNodeContext(context) && isBelow(id, sharedPath(nodeIn(context))));
  for (;;) {
    const still: string[] = [];
    for (const context of above) {
      // A node that does not answer hears of the removal when it comes back.
      const nodes = await api.list(context, nodeObjects).catch(() => []);
      const paths = nodes.map(({ spec }) => (spec as { path?: string } | undefined)?.path ?? '');
      if (paths.some((one) => isAtOrBelow(one, id))) still.push(context);
    }
    if (still.length === 0) return;
    if (clock.monotonicMs() > deadline) {
      throw new BanyanError(
        'Timeout',
        `${id} was removed, but ${still.join(', ')} still show it after ${forgottenWithinMs / 1000} s`,
      );
    }
    await pause(lookEveryMs);
  }
}

/** A level passes a change on within a second or two. */
const forgottenWithinMs = 30_000;
const lookEveryMs = 200;

export function removedText(path: string, { orphan }: Pick<RemoveOptions, 'orphan'>): string {
  const objects = orphan ? '; objects that were delivered there stay' : '';
  return `${shownPath(path)} is removed${objects}; to admit it again: ${cliCommand('join-token', path)} (with --relay for a relay)`;
}
