/** A topology as the list of its nodes. Parents come before children, and each node has everything that its configuration needs. */

import type { TopologyAudit } from '../../core/audit/audit-config.ts';
import type { FrontProxyConfig } from '../../core/authentication/front-proxy.ts';
import type { TopologyEncryption } from '../../core/encryption/encryption-config.ts';
import type { Limits } from '../../core/entries/deletion-guard.ts';
import type { Issued } from '../../core/identity/certificate-validity.ts';
import { childPath, depthOf, dottedPath, isAtOrBelow, nameOf, parentOf } from '../../core/identity/node-path.ts';
import { splitReplica, withReplica } from '../../core/identity/replica.ts';
import type { SubtreeClaims } from '../../core/match/claims.ts';
import type { AcceptRule } from '../../core/match/delivery-config.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { EgressOptions } from '../../core/runtime/egress.ts';
import { claimsIn } from './claims.ts';
import type {
  Listen,
  Topology,
  TopologyAccess,
  TopologyAuthentication,
  TopologyCluster,
  TopologyKubeconfig,
  TopologyLink,
  TopologyQuota,
  TopologyRelay,
  TopologySpace,
} from './topology.ts';

export interface PlannedNode {
  /** Empty at the center. All replicas of a relay have the same path. */
  readonly path: string;
  /** Unique among all nodes: the path and, from the second replica on, the number of the replica. */
  readonly id: string;
  readonly role: 'center' | 'relay' | 'agent';
  /** The number of this replica, and how many replicas the path has. */
  readonly replica: number;
  readonly replicas: number;
  readonly parent?: string;
  /** Ids of the nodes with the parent's path, in the order in which this node tries them. */
  readonly parents: readonly string[];
  readonly labels: Record<string, string>;
  readonly spaces: readonly TopologySpace[];
  /** Names of the relays right below this node. */
  readonly relays: readonly string[];
  /** The claims and quotas of the children, keyed by name. */
  readonly children: Readonly<Record<string, PlannedChild>>;
  /** The clusters right below this node. */
  readonly inventory: readonly TopologyCluster[];
  readonly listen?: Listen | undefined;
  /** Settings for the certificates that this node signs for agents directly below it. */
  readonly issuer?: Issued | undefined;
  /** The link to the parent. */
  readonly link?: TopologyLink | undefined;
  readonly limits?: Limits | undefined;
  readonly egress?: EgressOptions | undefined;
  readonly audit?: TopologyAudit | undefined;
  /** Absent: as `{}`. */
  readonly encryption?: TopologyEncryption | undefined;
  readonly access?: TopologyAccess | undefined;
  /** The claims and the quota that the topology gives this node. `children` of its parent has them too. */
  readonly claims?: SubtreeClaims | undefined;
  readonly quota?: TopologyQuota | undefined;
  readonly authentication?: TopologyAuthentication | undefined;
  readonly frontProxy?: FrontProxyConfig | undefined;
  /** Only for an agent: what it accepts from which sources. */
  readonly accept?: readonly AcceptRule[] | undefined;
  /** Only for an agent with a real cluster. */
  readonly kubeconfig?: TopologyKubeconfig | undefined;
}

export interface PlannedChild {
  readonly given?: SubtreeClaims;
  readonly claims?: SubtreeClaims;
  readonly quota?: TopologyQuota;
}

export function planOf(topology: Topology): PlannedNode[] {
  const { center, relays, clusters } = topology;
  const claims = claimsIn(topology);
  const below = (path: string) => clusters.filter((cluster) => cluster.parent === path);
  const relaysBelow = (path: string) =>
    relays.filter((relay) => relay.parent === path).flatMap((relay) => replicasOf(relay.name, relay.replicas));
  const childrenOf = (path: string): Record<string, PlannedChild> => {
    const quotaOf = ({ quota }: { readonly quota?: TopologyQuota | undefined }) => (quota ? { quota } : {});
    const own = relays.filter((relay) => relay.parent === path);
    return Object.fromEntries([
      ...own.map((relay) => [relay.name, { ...claims(childPath(path, relay.name)), ...quotaOf(relay) }]),
      ...below(path).flatMap((cluster) => (cluster.quota ? [[cluster.name, quotaOf(cluster)]] : [])),
    ]);
  };
  const replicasAt = new Map(relays.map((relay) => [childPath(relay.parent, relay.name), relay.replicas]));
  const parentsOf = (parent: string, id: string) => inOrderFor(id, replicasOf(parent, replicasAt.get(parent) ?? 1));
  const replicaOf = (relay: TopologyRelay, replica: number): PlannedNode => {
    const path = childPath(relay.parent, relay.name);
    const id = withReplica(path, replica);
    const { parent, labels, spaces, replicas, listen, issuer, link } = relay;
    const settings = { parent, labels, spaces, replicas, listen, issuer, link };
    const [relaysHere, inventory] = [relaysBelow(path), below(path)];
    return {
      ...settings,
      path,
      id,
      role: 'relay',
      replica,
      parents: parentsOf(parent, id),
      relays: relaysHere,
      children: childrenOf(path),
      inventory,
      limits: relay.limits,
      egress: relay.egress,
      audit: relay.audit,
      encryption: relay.encryption,
      access: relay.access,
      claims: relay.claims,
      quota: relay.quota,
      authentication: relay.authentication,
      frontProxy: relay.frontProxy,
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
      children: childrenOf(''),
      inventory: below(''),
      listen: center.listen,
      issuer: center.issuer,
      limits: center.limits,
      egress: center.egress,
      authentication: center.authentication,
      frontProxy: center.frontProxy,
      audit: center.audit,
      encryption: center.encryption,
    },
    ...relays
      .flatMap((relay) => Array.from({ length: relay.replicas }, (_, replica) => replicaOf(relay, replica)))
      .sort((a, b) => depthOf(a.path) - depthOf(b.path)),
    ...clusters.map((cluster): PlannedNode => {
      const path = childPath(cluster.parent, cluster.name);
      const none = { labels: {}, spaces: [], relays: [], children: {}, inventory: [] };
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
        audit: cluster.audit,
        encryption: cluster.encryption,
        access: cluster.access,
        quota: cluster.quota,
        accept: cluster.accept,
        kubeconfig: cluster.provider.kubeconfig,
      };
    }),
  ];
}

/** The nodes without the one at the path and those below it, as their parent is to know them. */
export function withoutPath(nodes: readonly PlannedNode[], path: string): PlannedNode[] {
  const name = nameOf(path);
  return nodes
    .filter((node) => !isAtOrBelow(node.path, path))
    .map((node) => {
      if (node.path !== parentOf(path)) return node;
      const { [name]: _removed, ...children } = node.children;
      const relays = node.relays.filter((relay) => splitReplica(relay).name !== name);
      return { ...node, relays, children, inventory: node.inventory.filter((one) => one.name !== name) };
    });
}

function replicasOf(name: string, replicas: number): string[] {
  return Array.from({ length: replicas }, (_, replica) => withReplica(name, replica));
}

/** The order in which a child tries the replicas. The first one is the child's home. A hash chooses it, so that the replicas share the load. */
function inOrderFor(id: string, replicas: readonly string[]): string[] {
  const home = hash128(id)[0]! % replicas.length;
  return [...replicas.slice(home), ...replicas.slice(0, home)];
}

/** The name of a space at the nodes below: `center.retail`, `eu.paris.ops`. */
export function sourceName(path: string, space: string): string {
  return `${dottedPath(path)}.${space}`;
}
