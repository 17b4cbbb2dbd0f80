/** Reads the nodes of a deployed tree from its API. Only the parent of an agent knows the agent, so every relay is asked. */
import { configuredAnnotation } from '../../core/apiserver/kinds/node-written-check.ts';
import { childPath, parentOf, shownPath } from '../../core/identity/node-path.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { SeenInventory, SeenNode, SeenSpace, SeenTree } from '../topology/deployed.ts';
import { NodeApiClient } from './api-client.ts';
import { locations, nodeObject, nodeObjects, spaceObjects, syncTargets } from './object-paths.ts';
import { type TreeOptions, treeKubeconfig } from './open-tree.ts';
import { isAgent, pathOf } from './through-tree.ts';
import { UsageError } from './usage-error.ts';

/** Relays that are asked at once, as `banyan kubeconfig` does. */
const askedAtOnce = 16;
const centerContext = 'node/center';

interface OpenedCenter {
  readonly api: NodeApiClient;
  /** The name of the tree, as the certificates have it. Absent: the authority has another form of name. */
  readonly tree?: string;
}

/** A client that reaches the whole tree through its center. Throws UsageError if the kubeconfig leads to another node. */
export async function openCenter(options: TreeOptions): Promise<OpenedCenter> {
  const kubeconfig = treeKubeconfig(options);
  const hasCenter = kubeconfig.config.contexts.some(({ name }) => name === centerContext);
  const current = options.context === undefined && hasCenter ? centerContext : kubeconfig.current;
  const api = new NodeApiClient({ ...kubeconfig, current });
  try {
    const { path } = await api.enter();
    if (path !== '') {
      throw new UsageError(
        `${kubeconfig.file}: the context "${current}" leads to node/${path}: a topology begins at the center; choose its context with --context`,
      );
    }
    const tree = treeOf(await api.get(centerContext, nodeObject('')));
    return { api, ...(tree === undefined ? {} : { tree }) };
  } catch (error) {
    api.close();
    throw error;
  }
}

/** The subject of the authority is `CN=banyan NAME`. */
function treeOf(center: KubeObject | undefined): string | undefined {
  const { authorities = [] } = (center?.status ?? {}) as { authorities?: { subject?: string; inUse?: boolean }[] };
  const subject = authorities.find(({ inUse }) => inUse)?.subject ?? '';
  return /(?:^|, )CN=banyan (\S+)$/.exec(subject)?.[1];
}

/** Throws Unavailable if the center does not answer, and the refusal of a node that shows nothing to this user. */
export async function seenTree(api: NodeApiClient): Promise<SeenTree> {
  const center = { path: '', role: 'center', state: 'Connected', replicas: 1 } as const;
  const nodes: SeenNode[] = [];
  const silent = new Map<string, string>();
  const due: SeenNode[] = [center];
  while (due.length > 0) {
    const asking = due
      .splice(0, askedAtOnce)
      .map(async (relay) => [relay, await askRelay(api, relay, silent)] as const);
    for (const [relay, asked] of await Promise.all(asking)) {
      nodes.push({ ...relay, ...asked?.own }, ...(asked?.agents ?? []));
      due.push(...(asked?.relays ?? []));
    }
  }
  return { nodes, silent };
}

interface Asked {
  readonly own: Pick<SeenNode, 'spaces' | 'labels'>;
  readonly relays: SeenNode[];
  readonly agents: SeenNode[];
}

/** Undefined: the relay can't be asked, or has never joined. */
async function askRelay(
  api: NodeApiClient,
  { path, state }: SeenNode,
  silent: Map<string, string>,
): Promise<Asked | undefined> {
  if (state === 'Never') return undefined;
  if (state !== 'Connected') {
    silent.set(path, 'it is not connected');
    return undefined;
  }
  const context = `node/${shownPath(path)}`;
  const list = (of: string) => api.list(context, of);
  try {
    const [nodes, targets, places, served] = await Promise.all(
      [nodeObjects, syncTargets, locations, spaceObjects].map(list),
    );
    api.addContextsOf(nodes!);
    const children = nodes!.filter((node) => parentOf(pathOf(node)) === path && pathOf(node) !== '');
    const locationOf = new Map(places!.map((location) => [location.metadata.name, location]));
    const self = nodes!.find((node) => pathOf(node) === path);
    const { labels } = (self?.status ?? {}) as Pick<SeenNode, 'labels'>;
    return {
      own: { spaces: served!.filter(isWanted).map(spaceOf), ...(labels ? { labels } : {}) },
      relays: relaysOf(children.filter((node) => !isAgent(node))),
      agents: targets!
        .filter(({ spec }) => (spec as { attachTo?: string } | undefined)?.attachTo === undefined)
        .map((target) => agentOf(path, target, locationOf.get(target.metadata.name), children)),
    };
  } catch (error) {
    if (path === '' || !(error instanceof BanyanError && error.code === 'Unavailable')) throw error;
    silent.set(path, describeError(error));
    return undefined;
  }
}

/** A replica of a relay is a Node object too. One connected replica is enough to ask the relay. */
function relaysOf(nodes: readonly KubeObject[]): SeenNode[] {
  const paths = [...new Set(nodes.map(pathOf))];
  return paths.map((path): SeenNode => {
    const replicas = nodes.filter((node) => pathOf(node) === path);
    const states = replicas.map(stateOf);
    const [first] = replicas;
    return {
      path,
      role: 'relay',
      state: states.find((state) => state === 'Connected') ?? states[0]!,
      replicas: replicas.length,
      ...writtenIn(first),
    };
  });
}

function agentOf(
  parent: string,
  target: KubeObject,
  location: KubeObject | undefined,
  nodes: readonly KubeObject[],
): SeenNode {
  const path = childPath(parent, target.metadata.name!);
  const node = nodes.find((one) => pathOf(one) === path);
  const { conditions = [] } = (target.status ?? {}) as { conditions?: { type: string; reason?: string }[] };
  const reason = conditions.find(({ type }) => type === 'Ready')?.reason;
  const state = reason === 'Connected' || reason === 'Disconnected' ? reason : 'Never';
  return { path, role: 'agent', state, replicas: 1, inventory: inventoryOf(target, location), ...writtenIn(node) };
}

function inventoryOf({ spec }: KubeObject, location: KubeObject | undefined): SeenInventory {
  const { properties = {} } = (spec ?? {}) as { properties?: Record<string, string> };
  if (!location) return { properties };
  const { labels = {}, annotations = {} } = location.metadata;
  const own = Object.entries(annotations).filter(([key]) => !bookkeeping.some((prefix) => key.startsWith(prefix)));
  return { labels, annotations: Object.fromEntries(own), properties };
}

/** Annotations that programs write for themselves. */
const bookkeeping = ['topology.banyan.io/', 'kubectl.kubernetes.io/'];

function writtenIn(node: KubeObject | undefined): Pick<SeenNode, 'claims' | 'quota' | 'hosts'> {
  const { claims, quota, hosts } = (node?.spec ?? {}) as Pick<SeenNode, 'claims' | 'quota' | 'hosts'>;
  return { ...(claims ? { claims } : {}), ...(quota ? { quota } : {}), ...(hosts ? { hosts } : {}) };
}

function stateOf({ status }: KubeObject): SeenNode['state'] {
  return (status as { session?: { state?: SeenNode['state'] } } | undefined)?.session?.state ?? 'Never';
}

/** A deleted Space is being drained. */
function isWanted({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp === undefined;
}

function spaceOf({ metadata, spec }: KubeObject): SeenSpace {
  const { type, delivery, limits } = spec as Pick<SeenSpace, 'type' | 'delivery' | 'limits'>;
  return {
    name: metadata.name!,
    type,
    ...(delivery ? { delivery } : {}),
    ...(limits ? { limits } : {}),
    isConfigured: metadata.annotations?.[configuredAnnotation] !== undefined,
  };
}
