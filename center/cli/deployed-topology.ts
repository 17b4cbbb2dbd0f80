/** `banyan topology diff` for a tree that no supervisor runs: what its API shows, compared with a file, and what no deployed tree can become. */
import { shownPath } from '../../core/identity/node-path.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { deploymentsOf, type InstalledNode } from '../install/deployments.ts';
import { type Comparison, compareDeployed, type NotCompared, type SeenTree } from '../topology/deployed.ts';
import type { NodeApiClient } from './api-client.ts';
import { openCenter, seenTree } from './deployed-tree.ts';
import { differenceOutput } from './difference-output.ts';
import type { TreeOptions } from './open-tree.ts';
import type { Output } from './output.ts';
import { checkSpacesStay, checkSpaceType, checkTreeName } from './topology-change.ts';
import { plannedNodes, readTopology } from './up.ts';
import { UsageError } from './usage-error.ts';

export interface DeployedTopology extends Comparison {
  readonly api: NodeApiClient;
  readonly file: string;
  readonly seen: SeenTree;
  readonly installed: readonly InstalledNode[];
}

/** Compares the tree with the file. Throws UsageError if the file is of another tree, or asks for what no deployed tree can do. The caller closes `api`. */
export async function openDeployed(file: string, options: TreeOptions): Promise<DeployedTopology> {
  const topology = readTopology(file);
  const planned = plannedNodes(topology, file);
  const { api, tree } = await openCenter(options);
  try {
    if (tree !== undefined) checkTreeName(file, topology, tree, 'choose the context of the other tree');
    const seen = await seenTree(api);
    const comparison = compareDeployed(seen, topology, planned);
    checkPossible(file, seen, comparison);
    return { ...comparison, api, file, seen, installed: deploymentsOf(topology, planned) };
  } catch (error) {
    api.close();
    throw error;
  }
}

function checkPossible(file: string, { nodes }: SeenTree, { differences, wanted }: Comparison): void {
  const seenAt = new Map(nodes.map((node) => [node.path, node]));
  for (const { path, role } of wanted) {
    const seen = seenAt.get(path);
    if (!seen || seen.role === role) continue;
    throw new UsageError(
      `${file}: the path "${path}" is taken: its role in the tree is ${seen.role}, and not ${role}: choose another name, or remove it first: ${cliCommand('remove', path)}`,
    );
  }
  for (const { action, path, from, fields } of differences) {
    if (action === 'add' && from !== undefined) {
      checkSpacesStay(file, from, path, seenAt.get(from)?.spaces?.map(({ name }) => name) ?? []);
    }
    const replicas = fields.find(({ field }) => field === 'replicas');
    if (replicas) {
      throw new UsageError(
        `${file}: replicas of "${path}": ${replicas.before} -> ${replicas.after}: a relay that joins with a token has one process: write replicas: ${replicas.before}`,
      );
    }
    for (const space of seenAt.get(path)?.spaces ?? []) {
      checkSpaceType(file, path, space, wanted.find((node) => node.path === path)?.spaces ?? []);
    }
  }
}

export function deployedOutput({ differences, notCompared }: Comparison): Output {
  const { data, names, text } = differenceOutput(differences);
  const shown = [text, ...notComparedLines(notCompared)].join('\n');
  return { data: { ...(data as object), notCompared }, names, text: shown, wide: shown };
}

function notComparedLines(notCompared: readonly NotCompared[]): string[] {
  if (notCompared.length === 0) return [];
  const lines = notCompared.map(
    ({ path, fields, reason = 'only its configuration has them' }) =>
      `    ${shownPath(path)}: ${fields.join(', ')} (${reason})`,
  );
  return ['not compared:', ...lines];
}

/** Throws Unavailable if there may be differences that nobody can see now. */
export function checkSeen({ differences, seen: { silent } }: DeployedTopology): void {
  const [path] = silent.keys();
  if (differences.length > 0 || path === undefined) return;
  throw new BanyanError(
    'Unavailable',
    `${[...silent].map(([one, reason]) => `${one}: ${reason}`).join('; ')}: nobody knows whether there are differences; run the command again when ${path} answers`,
  );
}
