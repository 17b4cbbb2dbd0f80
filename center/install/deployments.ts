/**
 * The nodes of a topology as they are installed elsewhere: how, under which names, and where each finds its parent. Everything here is what the chart, or a
 * machine with systemd, can't do without.
 */
import { childPath, dottedPath, shownPath } from '../../core/identity/node-path.ts';
import { hostPort } from '../../core/runtime/host-port.ts';
import type { SchemaProblem } from '../../core/runtime/schema-problems.ts';
import type { PlannedNode } from '../topology/plan.ts';
import type { Topology, TopologyLink } from '../topology/topology.ts';
import { servicePorts } from './machine-files.ts';

export interface InstalledNode {
  readonly as: 'chart' | 'machine';
  /** The settings of the node. Files are absolute. */
  readonly node: PlannedNode;
  /** The name of the tree. */
  readonly tree: string;
  /** The name of the folder and of the files of the node: `eu.paris.store-17`; `center`. */
  readonly name: string;
  /** DNS names and IP addresses of the API. An agent has none. */
  readonly names: readonly string[];
  /** Labels of the Location of a cluster. Those of a relay are in its settings. */
  readonly labels: Readonly<Record<string, string>>;
  readonly ports: { readonly api: number; readonly mesh: number };
  /** host:port where the parent listens. Absent: the node is the center, or the topology does not say where. */
  readonly parentAddress?: string;
}

/** `nodes`: the nodes of the topology. Of a relay with replicas, the result has the first replica. */
export function deploymentsOf(topology: Topology, nodes: readonly PlannedNode[]): InstalledNode[] {
  const { center, relays, clusters } = topology;
  const relayAt = new Map(relays.map((relay) => [childPath(relay.parent, relay.name), relay]));
  const clusterAt = new Map(clusters.map((cluster) => [childPath(cluster.parent, cluster.name), cluster]));
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
        as: role === 'agent' ? asCluster : (serving(path)?.deploy?.as ?? 'chart'),
        node,
        tree: topology.name,
        name: dottedPath(path),
        names: serving(path)?.deploy?.names ?? [],
        labels: clusterAt.get(path)?.labels ?? {},
        ports: portsOf(path),
        ...(address === undefined ? {} : { parentAddress: address }),
      };
    });
}

/** What can't be installed as the topology says. Each message has the remedy. */
export function deploymentProblems({ center, relays, clusters }: Topology, all: readonly InstalledNode[]) {
  const at = new Map(all.map((one) => [one.node.path, one]));
  const members = [
    { at: ['spec', 'center'], path: '', member: center },
    ...relays.map((member, i) => ({ at: ['spec', 'relays', i], path: childPath(member.parent, member.name), member })),
    ...clusters.map((member, i) => ({
      at: ['spec', 'clusters', i],
      path: childPath(member.parent, member.name),
      member,
    })),
  ];
  return members.flatMap(({ at: place, path, member }): SchemaProblem[] => {
    const deployment = at.get(path)!;
    const own = member as { readonly replicas?: number; readonly link?: TopologyLink };
    const problem = (field: readonly PropertyKey[], message: string) => ({ path: [...place, ...field], message });
    const { node } = deployment;
    const isBelow = node.parent !== undefined;
    return [
      ...(own.replicas !== undefined && own.replicas > 1
        ? [
            problem(
              ['replicas'],
              `${own.replicas}: a relay that joins with a token has one process: write replicas: 1, or run its replicas with certificates of the tree's authority`,
            ),
          ]
        : []),
      ...(isBelow && deployment.parentAddress === undefined
        ? [
            problem(
              ['link', 'endpoint'],
              `is missing: nobody knows where ${shownPath(node.parent ?? '')} listens; give names to its deploy, or an endpoint here`,
            ),
          ]
        : []),
      ...(own.link?.terminatedTls
        ? [
            problem(
              ['link', 'terminatedTls'],
              'true: the node joins with a token, which nobody on the way may read: give a way to the parent on which TLS passes through',
            ),
          ]
        : []),
      ...(hasPassword(own.link?.proxy)
        ? [
            problem(
              ['link', 'proxy'],
              'has a password, and rendered files have no secrets: write the URL without it, and add it where the node runs',
            ),
          ]
        : []),
      ...unsupported(deployment).map(({ field, message }) => problem(field, message)),
    ];
  });
}

interface Unsupported {
  readonly field: readonly PropertyKey[];
  readonly message: string;
}

/** Settings that need files or certificates which nobody brings to the place of the node. */
function unsupported({ as, node }: InstalledNode): Unsupported[] {
  const { role, issuer, authentication, frontProxy, audit, encryption } = node;
  const byChart = 'the chart brings no such file to the pod: leave it out, or install the node on a machine';
  const files: readonly (readonly [boolean, readonly PropertyKey[], string])[] = [
    [
      encryption?.keyFile !== undefined,
      ['encryption', 'keyFile'],
      'keys are made where the node runs, and are in no rendered file: leave it out',
    ],
    [as === 'chart' && encryption?.keyCommand !== undefined, ['encryption', 'keyCommand'], byChart],
    [as === 'chart' && authentication !== undefined, ['authentication', 'file'], byChart],
    [as === 'chart' && frontProxy !== undefined, ['frontProxy', 'clientCA'], byChart],
    [as === 'chart' && role !== 'agent' && audit?.policyFile !== undefined, ['audit', 'policyFile'], byChart],
    [
      as === 'chart' && role === 'agent' && audit !== undefined,
      ['audit'],
      'a cluster of the chart has the audit log of its own API server: leave it out',
    ],
    [
      as === 'chart' && role !== 'agent' && !isSealedByChart(encryption?.resources),
      ['encryption', 'resources'],
      'the chart seals Secrets or nothing: write [secrets] or [], or install the node on a machine',
    ],
    [
      role === 'center' && issuer?.certificateSeconds !== undefined,
      ['issuer', 'certificateSeconds'],
      'a center that makes its own authority gives certificates of 397 days: leave it out',
    ],
    [
      as === 'chart' && role === 'relay' && issuer?.certificateSeconds !== undefined,
      ['issuer', 'certificateSeconds'],
      'the chart has no value for it: leave it out, or install the relay on a machine',
    ],
  ];
  return files.filter(([isWrong]) => isWrong).map(([, field, message]) => ({ field, message }));
}

/** With a Secret of keys, a center or a relay of the chart seals the default resources. */
function isSealedByChart(resources: readonly string[] = ['secrets']): boolean {
  return resources.length === 0 || resources.join() === 'secrets';
}

function hasPassword(proxy: string | undefined): boolean {
  return proxy !== undefined && URL.canParse(proxy) && new URL(proxy).password !== '';
}
