/** `banyan topology diff` and `banyan topology apply`: a tree of `banyan up` becomes the tree of another topology while it runs. */
import { shownPath } from '../../core/identity/node-path.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Random } from '../../core/runtime/random.ts';
import { requestChange } from '../supervisor/change-requests.ts';
import type { DataDirectory } from '../supervisor/data-directory.ts';
import { readRecord, type TreeRecord, topmost, type WantedTree } from '../supervisor/tree-record.ts';
import { wantedTree } from '../supervisor/wanted-tree.ts';
import {
  differencesBetween,
  removedSpaces,
  type TreeDifference,
  type TreeDifferenceAction,
} from '../topology/differences.ts';
import type { PlannedNode } from '../topology/plan.ts';
import type { TopologySpace } from '../topology/topology.ts';
import { NodeApiClient } from './api-client.ts';
import { type DrainPorts, drain } from './drain.ts';
import { spaceObjects } from './object-paths.ts';
import type { Output } from './output.ts';
import { untilForgotten, withdraw } from './remove.ts';
import { targetsAt } from './tree-targets.ts';
import { plannedNodes, readTopology, runningSupervisor } from './up.ts';
import { UsageError } from './usage-error.ts';

export interface RunningTree {
  readonly pid: number;
  readonly record: TreeRecord;
}

export interface ApplyPorts extends DrainPorts {
  readonly random: Random;
}

/** Throws NotFound if no tree runs in the directory. */
export function runningTree(data: DataDirectory): RunningTree {
  const [pid, record] = [runningSupervisor(data), readRecord(data)];
  if (pid !== undefined && record) return { pid, record };
  const remedy = `start it with ${cliCommand('up', '-f', 'TOPOLOGY')}, or name its directory with --data, or a deployed tree with --kubeconfig`;
  throw new BanyanError('NotFound', `${data.root}: no tree of a topology runs here: ${remedy}`);
}

/** The tree of a topology file, as the supervisor of this directory would take it. Throws UsageError if it can't be the same tree. */
export function wantedOf(record: TreeRecord, file: string): WantedTree {
  const topology = readTopology(file);
  if (topology.name !== record.name) {
    throw new UsageError(
      `${file}: metadata.name: "${topology.name}" is another tree: the name "${record.name}" is in all certificates and can't be changed; write it here, or name the directory of the other tree with --data`,
    );
  }
  const wanted = wantedTree(record, { name: topology.name, logs: topology.logs, nodes: plannedNodes(topology, file) });
  for (const [to, from] of Object.entries(wanted.moved)) checkSpaces(file, record, from, to);
  for (const node of wanted.nodes) checkSpaceTypes(file, record, node);
  return wanted;
}

/** The copies of a space's objects carry the path of the relay that has the space. With another path, they would be the objects of another space. */
function checkSpaces(file: string, { nodes }: TreeRecord, from: string, to: string): void {
  const names = nodes.find(({ id }) => id === from)?.spaces.map(({ name }) => name) ?? [];
  if (names.length === 0) return;
  throw new UsageError(
    `${file}: the relay "${from}" can't become "${to}" while it has spaces (${names.join(', ')}): remove them first, or leave the relay where it is`,
  );
}

function checkSpaceTypes(file: string, { nodes }: TreeRecord, { id, spaces }: PlannedNode): void {
  for (const space of nodes.find((node) => node.id === id)?.spaces ?? []) checkSpaceType(file, id, space, spaces);
}

/** Throws UsageError if the space has another type among those of the topology. */
export function checkSpaceType(
  file: string,
  id: string,
  { name, type }: Pick<TopologySpace, 'name' | 'type'>,
  wanted: readonly TopologySpace[],
): void {
  const after = wanted.find((space) => space.name === name);
  if (after === undefined || after.type === type) return;
  throw new UsageError(
    `${file}: spaces of ${shownPath(id)}: "${name}" can't become ${after.type}: the type of a space stays ${type}; remove the space first, or take another name`,
  );
}

export function differences(record: TreeRecord, wanted: WantedTree): TreeDifference[] {
  return differencesBetween(record, wanted);
}

export function differenceOutput(found: readonly TreeDifference[]): Output {
  const text = found.length === 0 ? 'no differences' : found.map(lineOf).join('\n');
  return { data: { differences: found }, names: found.map(({ path }) => `node/${shownPath(path)}`), text, wide: text };
}

const signs = { add: '+', remove: '-', move: '>', change: '~', withdraw: '-', join: '+' } as const;
const states: Partial<Record<TreeDifferenceAction, string>> = {
  withdraw: ': runs no more; its parent still knows it',
  join: ': is admitted, and has not joined yet',
};

function lineOf({ action, role, path, from, fields, takesAway }: TreeDifference): string {
  const node = `${role === undefined || role === 'center' ? '' : `${role === 'agent' ? 'cluster' : role} `}${shownPath(path)}`;
  const where = from === undefined ? '' : `, so far ${from}`;
  const still = states[action] ?? '';
  const what = fields.map(
    ({ field, before, after }) =>
      `    ${field}: ${before === undefined ? 'none' : JSON.stringify(before)} -> ${after === undefined ? 'none' : JSON.stringify(after)}`,
  );
  const loss = takesAway === undefined ? [] : [`    takes away ${takesAway}`];
  return [`${signs[action]} ${node}${where}${still}`, ...what, ...loss].join('\n');
}

/**
 * Makes the tree the wanted one. Each step leaves a state from which the next call goes on. First the clusters that leave are drained, then the supervisor takes
 * the tree, then parents forget what is no longer there.
 */
export async function applyTopology(
  data: DataDirectory,
  { pid, record }: RunningTree,
  wanted: WantedTree,
  timeoutMs: number,
  ports: ApplyPorts,
): Promise<void> {
  const api = () => new NodeApiClient(data.kubeconfig);
  // Paths that come back are forgotten first: their new nodes would be taken for the former ones.
  const comingBack = record.withdraw.filter((id) => !wanted.withdraw.includes(id));
  await forget(api(), comingBack, ports);
  const removed = differences(record, wanted).filter(({ action }) => action === 'remove');
  for (const path of topmost(removed.map((one) => one.path))) {
    const client = api();
    if ((await targetsAt(client, path)).targets.length > 0)
      ports.print(`drained: ${(await drain(client, path, timeoutMs, ports)).join(', ')}`);
  }
  const spaces = differences(record, wanted).flatMap(({ action, path, fields }) =>
    action === 'change' ? fields.flatMap(removedSpaces).map((space) => ({ path, space })) : [],
  );
  await takeTree(data, pid, wanted, timeoutMs, ports);
  const client = api();
  await untilSpacesGone(client, spaces, timeoutMs, ports);
  client.close();
}

/** The node drains a removed space: it takes back the copies of the space's objects, and then ends the space. */
export async function untilSpacesGone(
  api: Pick<NodeApiClient, 'get'>,
  spaces: readonly { readonly path: string; readonly space: string }[],
  timeoutMs: number,
  { clock, pause }: Pick<ApplyPorts, 'clock' | 'pause'>,
): Promise<void> {
  const deadline = clock.monotonicMs() + timeoutMs;
  for (const { path, space } of spaces) {
    const context = `node/${shownPath(path)}`;
    while (await api.get(context, `${spaceObjects}/${space}`)) {
      if (clock.monotonicMs() > deadline) {
        throw new BanyanError(
          'Timeout',
          `${context}: the space ${space} is still being drained: kubectl --context ${context} describe space ${space} says why`,
        );
      }
      await pause(lookEveryMs);
    }
  }
}

const lookEveryMs = 200;

/** Lets the supervisor take the tree, and then the parents forget the nodes that it no longer has. */
export async function takeTree(
  data: DataDirectory,
  pid: number,
  wanted: WantedTree,
  timeoutMs: number,
  ports: ApplyPorts,
): Promise<void> {
  await requestChange(pid, wanted, timeoutMs, { ...ports, data });
  if (wanted.withdraw.length === 0) return;
  await forget(new NodeApiClient(data.kubeconfig), wanted.withdraw, ports);
  await requestChange(pid, { ...wanted, moved: {}, withdraw: [] }, timeoutMs, { ...ports, data });
}

async function forget(api: NodeApiClient, ids: readonly string[], ports: ApplyPorts): Promise<void> {
  for (const id of ids) {
    await withdraw(api, id, ports);
    await untilForgotten(api, id, ports);
    ports.print(`${id} is removed`);
  }
  api.close();
}

/** What a person has to agree to. Undefined: nothing is taken away. */
export function lossesOf(found: readonly TreeDifference[]): string | undefined {
  const losses = found.flatMap(({ path, takesAway }) =>
    takesAway === undefined ? [] : [`${shownPath(path)}: ${takesAway}`],
  );
  return losses.length === 0 ? undefined : losses.join('\n  ');
}
