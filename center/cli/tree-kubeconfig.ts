/** `banyan kubeconfig`: the contexts of a tree, for the person of the kubeconfig in use. All of them lead through the node of the context in use. */
import { stringify } from 'yaml';
import { comparePaths, isAtOrBelow, isBelow, parentOf, pathShownAs, shownPath } from '../../core/identity/node-path.ts';
import type { Kubeconfig } from '../../core/kubeconfig/kubeconfig.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { type Context, type ContextNode, contextsOf } from '../supervisor/kubeconfig.ts';
import { type Advertised, advertisedBy } from './advertised.ts';
import type { NodeApiClient } from './api-client.ts';
import { didYouMean } from './arguments.ts';
import { isNodeContext, nodeIn } from './node-contexts.ts';
import { meshObjects } from './object-paths.ts';
import { portableKubeconfig } from './portable-kubeconfig.ts';
import { type EntryNode, isAgent, pathOf, pathOfContext } from './through-tree.ts';
import type { TreeKubeconfig } from './tree-routes.ts';

export interface KubeconfigQuestion {
  /** Only contexts of this node and of the nodes below it. */
  readonly at: string;
  /** Without the contexts of clusters, mailboxes and reported objects, of which a large tree has thousands. */
  readonly spaces: boolean;
  /** The URL of the entry node for other machines. Absent: the one that the node advertises, or else the URL of the kubeconfig in use. */
  readonly server?: string;
}

type Api = Pick<NodeApiClient, 'get' | 'list' | 'contexts' | 'currentContext'>;
type ShownSpace = ContextNode['spaces'][number];

/** Nodes that are asked at once: each answer may have thousands of Node objects. */
const askedAtOnce = 16;

/** Returns the kubeconfig as YAML. Warns about nodes that do not answer or that refuse, and leaves out what only they know. Throws NotFound for an unknown `at`. */
export async function treeContexts(
  api: Api,
  { entry, tree }: { readonly entry: EntryNode; readonly tree: TreeKubeconfig },
  { at, spaces, server }: KubeconfigQuestion,
  warn: (line: string) => void,
): Promise<string> {
  const nodes = await nodesFor(api, entry, at, warn);
  const url = server ?? (await advertised(api, entry)) ?? entry.url;
  const agents = new Set(nodes.filter(({ role }) => role === 'agent').map(({ path }) => path));
  const urlOf = (id: string) => {
    const kind = agents.has(id) ? 'cluster' : 'node';
    return `${url}${pathOfContext(`${kind}/${shownPath(id)}`, entry.path)}`;
  };
  const found = contextsOf(nodes, urlOf);
  // The user may have rights in this space, and none to list the spaces of the node.
  const inUse = api.currentContext();
  const own = { name: inUse, url: `${url}${pathOfContext(inUse, entry.path)}` };
  const all = found.some(({ name }) => name === inUse) ? found : [...found, own];
  const contexts = all.filter(({ name }) => {
    const [kind = '', node = ''] = name.split('/');
    return isAtOrBelow(pathShownAs(node), at) && (!spaces || ['node', 'space', 'fleet'].includes(kind));
  });
  if (contexts.length > 0)
    return stringify(portableKubeconfig(configOf(contexts, tree)), { aliasDuplicateObjects: false });
  const known = [...new Set([...api.contexts().filter(isNodeContext).map(nodeIn), ...nodes.map(({ path }) => path)])];
  const listing = `for a list: ${cliCommand('tree')}`;
  throw new BanyanError('NotFound', `--at: there is no node "${at}": ${didYouMean(at, known, listing)}`);
}

/** The URL that the entry node advertises. Undefined also if the node does not show its Node object: `nodesFor` has then warned already. */
async function advertised(api: Api, { path }: EntryNode): Promise<string | undefined> {
  const { api: address } = await advertisedBy(api, `node/${shownPath(path)}`).catch((): Advertised => ({}));
  return address && `https://${address}`;
}

/** The nodes at and below `at`, and those above it, whose spaces `at` shows. */
async function nodesFor(api: Api, entry: EntryNode, at: string, warn: (line: string) => void): Promise<ContextNode[]> {
  const isAsked = (path: string) => isAtOrBelow(path, at) || isBelow(at, path);
  const relays = api
    .contexts()
    .filter(isNodeContext)
    .map(nodeIn)
    .filter((path) => isAtOrBelow(path, entry.path) && isAsked(path) && !path.includes('~'));
  const found = new Map<string, ContextNode>();
  const waiting = [...new Set(relays)].sort(comparePaths);
  const worker = async () => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      for (const node of await nodesAt(api, path, entry, warn)) found.set(node.path, node);
    }
  };
  await Promise.all(Array.from({ length: askedAtOnce }, worker));
  return [...found.values()].sort((a, b) => comparePaths(a.path, b.path));
}

/** A relay, and the agents right below it. */
async function nodesAt(
  api: Api,
  path: string,
  entry: EntryNode,
  warn: (line: string) => void,
): Promise<readonly ContextNode[]> {
  const context = `node/${shownPath(path)}`;
  const listed = async (resource: string): Promise<KubeObject[]> => {
    try {
      return await api.list(context, `${meshObjects}/${resource}`);
    } catch (error) {
      warn(`${context}: its ${resource} are left out: ${describeError(error)}`);
      return [];
    }
  };
  const [children, spaces] = await Promise.all([listed('nodes'), listed('spaces')]);
  const role = path === '' ? 'center' : 'relay';
  const agents = children.filter((node) => isAgent(node) && parentOf(pathOf(node)) === path).map(pathOf);
  const above = path === entry.path ? {} : { parent: parentOf(path) };
  return [
    { path, id: path, role, spaces: spaces.map(spaceOf), ...above },
    ...agents.map((agent) => ({ path: agent, id: agent, role: 'agent' as const, parent: path, spaces: [] })),
  ];
}

function spaceOf({ metadata, spec }: KubeObject): ShownSpace {
  const { type } = spec as Pick<ShownSpace, 'type'>;
  return { name: metadata.name ?? '', type };
}

/** Each context has a cluster of its own, because the server of a cluster has the path. */
function configOf(contexts: readonly Context[], { config, current }: TreeKubeconfig): Kubeconfig {
  const used = config.contexts.find(({ name }) => name === current)!.context;
  const { cluster } = config.clusters.find(({ name }) => name === used.cluster)!;
  const users = config.users.filter(({ name }) => name === used.user);
  const first = contexts.find(({ name }) => name.startsWith('space/')) ?? contexts[0]!;
  return {
    'current-context': first.name,
    clusters: contexts.map(({ name, url }) => ({ name, cluster: { ...cluster, server: url } })),
    contexts: contexts.map(({ name }) => ({ name, context: { cluster: name, user: used.user } })),
    users,
  };
}
