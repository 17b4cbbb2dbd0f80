/** A topology as the list of its nodes, each with what its configuration needs, parents before children. */

import type { Limits } from '../../core/entries/deletion-guard.ts';
import type { Issued } from '../../core/identity/certificate-validity.ts';
import { childPath, depthOf, dottedPath } from '../../core/identity/node-path.ts';
import { withReplica } from '../../core/identity/replica.ts';
import { hash128 } from '../../core/object/hash.ts';
import type {
  Listen,
  Topology,
  TopologyCluster,
  TopologyKubeconfig,
  TopologyLink,
  TopologyRelay,
  TopologySpace,
} from './topology.ts';

export interface PlannedNode {
  /** Empty at the center; siblings share one. */
  readonly path: string;
  /** What tells it from all others: the path, with the number behind it that a sibling has. */
  readonly id: string;
  readonly role: 'center' | 'relay' | 'agent';
  /** Of the siblings of its path this one, of so many. */
  readonly replica: number;
  readonly replicas: number;
  readonly parent?: string;
  /** Ids of the nodes with the parent's path, in the order in which they are tried. */
  readonly parents: readonly string[];
  readonly labels: Record<string, string>;
  readonly spaces: readonly TopologySpace[];
  /** Names of the relays right below this node. */
  readonly relays: readonly string[];
  /** The clusters right below this node. */
  readonly inventory: readonly TopologyCluster[];
  readonly listen?: Listen | undefined;
  /** What agents right below it get. */
  readonly issuer?: Issued | undefined;
  /** To the parent. */
  readonly link?: TopologyLink | undefined;
  readonly limits?: Limits | undefined;
  /** Of an agent whose cluster is a real one. */
  readonly kubeconfig?: TopologyKubeconfig | undefined;
}

export function planOf(topology: Topology): PlannedNode[] {
  const { center, relays, clusters } = topology;
  const below = (path: string) => clusters.filter((cluster) => cluster.parent === path);
  const relaysBelow = (path: string) =>
    relays.filter((relay) => relay.parent === path).flatMap((relay) => replicasOf(relay.name, relay.replicas));
  const replicasAt = new Map(relays.map((relay) => [childPath(relay.parent, relay.name), relay.replicas]));
  const parentsOf = (parent: string, id: string) => inOrderFor(id, replicasOf(parent, replicasAt.get(parent) ?? 1));
  const sibling = (relay: TopologyRelay, replica: number): PlannedNode => {
    const path = childPath(relay.parent, relay.name);
    const id = withReplica(path, replica);
    const { parent, labels, spaces, replicas, listen, issuer, link } = relay;
    const given = { parent, labels, spaces, replicas, listen, issuer, link };
    const [relaysHere, inventory] = [relaysBelow(path), below(path)];
    return {
      ...given,
      path,
      id,
      role: 'relay',
      replica,
      parents: parentsOf(parent, id),
      relays: relaysHere,
      inventory,
      limits: relay.limits,
    };
  };
  const alone = { replica: 0, replicas: 1 };
  return [
    {
      ...alone,
      path: '',
      id: '',
      role: 'center',
      parents: [],
      labels: center.labels,
      spaces: center.spaces,
      relays: relaysBelow(''),
      inventory: below(''),
      listen: center.listen,
      issuer: center.issuer,
      limits: center.limits,
    },
    ...relays
      .flatMap((relay) => Array.from({ length: relay.replicas }, (_, replica) => sibling(relay, replica)))
      .sort((a, b) => depthOf(a.path) - depthOf(b.path)),
    ...clusters.map((cluster): PlannedNode => {
      const path = childPath(cluster.parent, cluster.name);
      const none = { labels: {}, spaces: [], relays: [], inventory: [] };
      const parents = parentsOf(cluster.parent, path);
      return {
        ...alone,
        ...none,
        path,
        id: path,
        role: 'agent',
        parent: cluster.parent,
        parents,
        link: cluster.link,
        limits: cluster.limits,
        kubeconfig: cluster.provider.kubeconfig,
      };
    }),
  ];
}

function replicasOf(name: string, replicas: number): string[] {
  return Array.from({ length: replicas }, (_, replica) => withReplica(name, replica));
}

/** Each child has a home of its own among the siblings, by hash, so that they share the load; it tries the others after it. */
function inOrderFor(id: string, replicas: readonly string[]): string[] {
  const home = hash128(id)[0]! % replicas.length;
  return [...replicas.slice(home), ...replicas.slice(0, home)];
}

/** Where a space of a node shows up below it: `center.retail`, `eu.paris.ops`. */
export function sourceName(path: string, space: string): string {
  return `${dottedPath(path)}.${space}`;
}
