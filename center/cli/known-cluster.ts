/** Checks that there is a cluster at a path, before a command asks about it. */
import { comparePaths, isBelow, nameOf, parentOf } from '../../core/identity/node-path.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';
import { didYouMean } from './arguments.ts';
import { askReplicas, isNodeContext, nodeContexts } from './node-contexts.ts';
import { nodeObject, nodeObjects, syncTargets } from './object-paths.ts';
import { isAgent, pathOf } from './through-tree.ts';
import { UsageError } from './usage-error.ts';
import { standInLines } from './why-destination.ts';

type KnownClusterApi = Pick<NodeApiClient, 'contexts' | 'get' | 'list'>;

/** Paths in a message. */
const namesMax = 10;

/** Throws UsageError if the path is a relay. Throws NotFound for an unknown path, and suggests the most similar cluster. */
export async function checkCluster(api: KnownClusterApi, at: string): Promise<void> {
  const contexts = api.contexts();
  const isRelay = (path: string) => nodeContexts(contexts, path).length > 0;
  const clusters = pathsIn(contexts, 'mailbox/').filter((path) => !isRelay(path));
  if (isRelay(at)) {
    const example = clusters.find((path) => isBelow(path, at)) ?? `${at}:store-17`;
    throw new UsageError(`--at: "${at}" is no cluster but a relay: name a cluster below it, such as ${example}`);
  }
  if (clusters.includes(at) || (await isKnownAbove(api, at))) return;
  const known = [...new Set([...clusters, ...(await agentsOf(api))])].sort(comparePaths);
  const shown = known.length === 0 ? '' : `; known: ${known.slice(0, namesMax).join(', ')}`;
  const remedy = `${didYouMean(at, known, `for a list: ${cliCommand('tree')}`)}${shown}`;
  throw new BanyanError('NotFound', `--at: there is no cluster "${at}": ${remedy}`);
}

function pathsIn(contexts: readonly string[], prefix: string): string[] {
  return contexts.filter((context) => context.startsWith(prefix)).map((context) => context.slice(prefix.length));
}

/** The agents that the relays of the kubeconfig show. A relay that does not answer adds none. */
async function agentsOf(api: KnownClusterApi): Promise<string[]> {
  const relays = api.contexts().filter(isNodeContext);
  const nodes = await Promise.all(relays.map((context) => api.list(context, nodeObjects).catch(() => [])));
  return nodes.flat().filter(isAgent).map(pathOf);
}

/**
 * Whether a node above the agent knows the agent. The parent of an enrolled agent has the agent's SyncTarget. If an inventory space makes the agent a
 * destination, that space has the SyncTarget.
 */
async function isKnownAbove(api: KnownClusterApi, at: string): Promise<boolean> {
  const parents = nodeContexts(api.contexts(), parentOf(at));
  if (parents.length === 0) return false;
  for (const path of [`${syncTargets}/${nameOf(at)}`, nodeObject(at)]) {
    if ((await askReplicas(parents, (context) => api.get(context, path))).answer) return true;
  }
  return (await standInLines(api, at)).length > 0;
}
