/** A topology as the list of its nodes, each with what its configuration needs, parents before children. */
import {
  childPath,
  type Listen,
  type Topology,
  type TopologyCluster,
  type TopologyLink,
  type TopologySpace,
} from './topology.ts';

export interface PlannedNode {
  /** Empty at the center. */
  readonly path: string;
  readonly role: 'center' | 'relay' | 'agent';
  readonly parent?: string;
  readonly labels: Record<string, string>;
  readonly spaces: readonly TopologySpace[];
  /** Names of the relays right below this node. */
  readonly relays: readonly string[];
  /** The clusters right below this node. */
  readonly inventory: readonly TopologyCluster[];
  readonly listen?: Listen | undefined;
  /** To the parent. */
  readonly link?: TopologyLink | undefined;
}

export function planOf(topology: Topology): PlannedNode[] {
  const { center, relays, clusters } = topology;
  const below = (path: string) => clusters.filter((cluster) => cluster.parent === path);
  const relaysBelow = (path: string) => relays.filter((relay) => relay.parent === path).map((relay) => relay.name);
  const depth = (path: string) => (path === '' ? 0 : path.split(':').length);
  const relayNodes = relays.map((relay): PlannedNode => {
    const path = childPath(relay.parent, relay.name);
    return {
      path,
      role: 'relay',
      parent: relay.parent,
      labels: relay.labels,
      spaces: relay.spaces,
      relays: relaysBelow(path),
      inventory: below(path),
      listen: relay.listen,
      link: relay.link,
    };
  });
  return [
    {
      path: '',
      role: 'center',
      labels: center.labels,
      spaces: center.spaces,
      relays: relaysBelow(''),
      inventory: below(''),
      listen: center.listen,
    },
    ...relayNodes.sort((a, b) => depth(a.path) - depth(b.path)),
    ...clusters.map(
      (cluster): PlannedNode => ({
        path: childPath(cluster.parent, cluster.name),
        role: 'agent',
        parent: cluster.parent,
        labels: {},
        spaces: [],
        relays: [],
        inventory: [],
        link: cluster.link,
      }),
    ),
  ];
}

/** A node's name in files and logs: `eu.paris`, `center`. */
export function fileName(path: string): string {
  return path === '' ? 'center' : path.replaceAll(':', '.');
}

/** Where a space of a node shows up below it: `center.retail`, `eu.paris.ops`. */
export function sourceName(path: string, space: string): string {
  return `${fileName(path)}.${space}`;
}

/** The paths of the relays above a path, the center first. */
export function ancestors(path: string): string[] {
  const names = path.split(':');
  return path === '' ? [] : names.map((_, i) => names.slice(0, i).join(':'));
}
