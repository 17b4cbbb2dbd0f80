/**
 * The nodes of a topology as they are installed elsewhere: how, under which names, and where each finds its parent. Everything here is what the chart, or a
 * machine with systemd, can't do without.
 */
import { childPath, dottedPath } from '../../core/identity/node-path.ts';
import { hostPort } from '../../core/runtime/host-port.ts';
import { admittedHosts } from '../topology/hosts.ts';
import type { PlannedNode } from '../topology/plan.ts';
import type { Topology } from '../topology/topology.ts';
import { servicePorts } from './machine-files.ts';

export interface InstalledNode {
  /** The place of the node in the topology file: `['spec', 'relays', 0]`. */
  readonly field: readonly PropertyKey[];
  readonly as: 'chart' | 'machine';
  /** The settings of the node. Files are absolute. */
  readonly node: PlannedNode;
  /** The name of the tree. */
  readonly tree: string;
  /** The name of the folder and of the files of the node: `eu.paris.store-17`; `center`. */
  readonly name: string;
  /** DNS names and IP addresses of the API. An agent has none. */
  readonly names: readonly string[];
  /** Of a relay: the hosts that its parent admits, with those of the relays below. */
  readonly hosts: readonly string[];
  /** Labels of the Location of a cluster. Those of a relay are in its settings. */
  readonly labels: Readonly<Record<string, string>>;
  readonly ports: { readonly api: number; readonly mesh: number };
  /** host:port where the parent listens. Absent: the node is the center, or the topology does not say where. */
  readonly parentAddress?: string;
}

/** The users whose requests an agent passes on to its cluster. Undefined: nobody. A topology that gives users from above rights leaves the rest to the roles of the cluster. */
export function streamUsers({ access }: Pick<PlannedNode, 'access'>): object | undefined {
  return access && access.fromAbove !== 'none' ? { users: ['*'], groups: ['*'] } : undefined;
}

/** `nodes`: the nodes of the topology. Of a relay with replicas, the result has the first replica. */
export function deploymentsOf(topology: Topology, nodes: readonly PlannedNode[]): InstalledNode[] {
  const { center, relays, clusters } = topology;
  const relayAt = new Map(relays.map((relay) => [childPath(relay.parent, relay.name), relay]));
  const clusterAt = new Map(clusters.map((cluster) => [childPath(cluster.parent, cluster.name), cluster]));
  const fieldOf = (path: string) => {
    const [relay, cluster] = [relayAt.get(path), clusterAt.get(path)];
    if (relay) return ['spec', 'relays', relays.indexOf(relay)];
    return cluster ? ['spec', 'clusters', clusters.indexOf(cluster)] : ['spec', 'center'];
  };
  const serving = (path: string) => (path === '' ? center : relayAt.get(path));
  const portsOf = (path: string) => {
    const { apiPort = servicePorts.api, meshPort = servicePorts.mesh } = serving(path)?.listen ?? {};
    return { api: apiPort, mesh: meshPort };
  };
  const addressOf = (path: string) => {
    const [first] = serving(path)?.deploy?.names ?? [];
    return first === undefined ? undefined : hostPort(first, portsOf(path).mesh);
  };
  return nodes
    .filter(({ replica }) => replica === 0)
    .map((node): InstalledNode => {
      const { path, role, parent, link, kubeconfig } = node;
      const asCluster = clusterAt.get(path)?.deploy?.as ?? (kubeconfig ? 'chart' : 'machine');
      const address = parent === undefined ? undefined : (link?.endpoint ?? addressOf(parent));
      return {
        field: fieldOf(path),
        as: role === 'agent' ? asCluster : (serving(path)?.deploy?.as ?? 'chart'),
        node,
        tree: topology.name,
        name: dottedPath(path),
        names: serving(path)?.deploy?.names ?? [],
        hosts: role === 'relay' ? admittedHosts(topology, path) : [],
        labels: clusterAt.get(path)?.labels ?? {},
        ports: portsOf(path),
        ...(address === undefined ? {} : { parentAddress: address }),
      };
    });
}
