/** `banyan topology diff` and `banyan topology apply` for a tree of `banyan up`, which becomes the tree of another topology while it runs. */
import { shownPath } from '../../core/identity/node-path.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Random } from '../../core/runtime/random.ts';
import { requestChange } from '../supervisor/change-requests.ts';
import type { DataDirectory } from '../supervisor/data-directory.ts';
import { readRecord, type TreeRecord, topmost, type WantedTree } from '../supervisor/tree-record.ts';
import { wantedTree } from '../supervisor/wanted-tree.ts';
import { differencesBetween, removedSpaces, type TreeDifference } from '../topology/differences.ts';
import type { PlannedNode } from '../topology/plan.ts';
import type { Topology, TopologySpace } from '../topology/topology.ts';
import { NodeApiClient } from './api-client.ts';
import type { DrainPorts } from './drain.ts';
import { spaceObjects } from './object-paths.ts';
import { drainAll, forget } from './remove.ts';
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
  checkTreeName(file, topology, record.name, 'name the directory of the other tree with --data');
  const wanted = wantedTree(record, { name: topology.name, logs: topology.logs, nodes: plannedNodes(topology, file) });
  for (const [to, from] of Object.entries(wanted.moved)) {
    const names = record.nodes.find(({ id }) => id === from)?.spaces.map(({ name }) => name) ?? [];
    checkSpacesStay(file, from, to, names);
  }
  for (const node of wanted.nodes) checkSpaceTypes(file, record, node);
  return wanted;
}

/** Throws UsageError if the topology is of another tree than the one with this name. `remedy`: the way to the other tree. */
export function checkTreeName(file: string, topology: Topology, name: string, remedy: string): void {
  if (topology.name === name) return;
  throw new UsageError(
    `${file}: metadata.name: "${topology.name}" is another tree: the name "${name}" is in all certificates and can't be changed; write it here, or ${remedy}`,
  );
}

/**
 * The copies of a space's objects carry the path of the relay that has the space. With another path, they would be the objects of another space. Throws UsageError
 * if the relay that is to move has spaces.
 */
export function checkSpacesStay(file: string, from: string, to: string, names: readonly string[]): void {
  if (names.length === 0) return;
  throw new UsageError(
    `${file}: the relay "${from}" can't become "${to}" while it has spaces (${names.join(', ')}): the copies of their objects belong to "${from}". Add a relay with another name, bring the objects there, move the clusters, and remove "${from}" (docs/operations/change-the-tree.md, "A relay with spaces"), or leave the relay where it is`,
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
  const found = differences(record, wanted);
  const removed = found.filter(({ action }) => action === 'remove').map(({ path }) => path);
  await withApi(data, async (api) => {
    // Paths that come back are forgotten first: their new nodes would be taken for the former ones.
    const comingBack = record.withdraw.filter((id) => !wanted.withdraw.includes(id));
    await forgetAll(api, comingBack, ports);
    for (const path of topmost(removed)) await drainAll(api, path, timeoutMs, ports);
  });
  const spaces = found.flatMap(({ action, path, fields }) =>
    action === 'change' ? fields.flatMap(removedSpaces).map((space) => ({ path, space })) : [],
  );
  await takeTree(data, pid, wanted, timeoutMs, ports);
  await withApi(data, (api) => untilSpacesGone(api, spaces, timeoutMs, ports));
}

/** Asks the tree with its present kubeconfig: a change of the tree writes the kubeconfig anew. */
async function withApi(data: DataDirectory, use: (api: NodeApiClient) => Promise<void>): Promise<void> {
  const api = new NodeApiClient(data.kubeconfig);
  try {
    await use(api);
  } finally {
    api.close();
  }
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
  await withApi(data, (api) => forgetAll(api, wanted.withdraw, ports));
  await requestChange(pid, { ...wanted, moved: {}, withdraw: [] }, timeoutMs, { ...ports, data });
}

export async function forgetAll(api: NodeApiClient, ids: readonly string[], ports: ApplyPorts): Promise<void> {
  for (const id of ids) {
    await forget(api, id, ports);
    ports.print(`${id} is removed`);
  }
}
