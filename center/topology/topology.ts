/** The types of the topology file, and its checks, with a message for each problem. A tree with a problem in its topology never starts. */

import type { Limits } from '../../core/entries/deletion-guard.ts';
import type { Issued } from '../../core/identity/certificate-validity.ts';
import { checkNodeName, childPath, nameOf } from '../../core/identity/node-path.ts';
import { checkDnsLabel, checkDnsSubdomain, checkLabelKey, checkLabelValue } from '../../core/object/names.ts';
import type { LogRotation } from '../../core/runtime/log-rotation.ts';
import type { LinkOptions } from '../../core/wire/dialer/link-options.ts';

export interface Topology {
  readonly name: string;
  readonly center: TopologyCenter;
  readonly relays: readonly TopologyRelay[];
  readonly clusters: readonly TopologyCluster[];
  readonly logs?: LogRotation | undefined;
}

export interface TopologyCenter {
  readonly labels: Record<string, string>;
  readonly spaces: readonly TopologySpace[];
  readonly listen?: Listen | undefined;
  readonly issuer?: Issued | undefined;
  readonly limits?: Limits | undefined;
}

/** Where a node listens. Default: a free port of 127.0.0.1. */
export interface Listen {
  readonly host: string;
  readonly apiPort?: number | undefined;
  readonly meshPort?: number | undefined;
  readonly terminatedTls: boolean;
}

/** How a node reaches its parent. */
export interface TopologyLink extends LinkOptions {
  /** host:port to dial. Absent: the address where the parent listens. */
  readonly endpoint?: string | undefined;
}

export interface TopologySpace {
  readonly name: string;
  readonly type: 'Workload' | 'Inventory' | 'System';
}

export interface TopologyRelay {
  readonly name: string;
  /** Path of the parent. Empty: the center. */
  readonly parent: string;
  readonly labels: Record<string, string>;
  readonly spaces: readonly TopologySpace[];
  readonly link?: TopologyLink | undefined;
  /** How many processes have this path. Each is a complete copy. A child is attached to one of them. */
  readonly replicas: number;
  readonly listen?: Listen | undefined;
  readonly issuer?: Issued | undefined;
  readonly limits?: Limits | undefined;
}

export interface TopologyCluster {
  readonly name: string;
  readonly parent: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly properties: Record<string, string>;
  readonly provider: TopologyProvider;
  readonly link?: TopologyLink | undefined;
  readonly limits?: Limits | undefined;
}

/** Where the cluster is. */
export interface TopologyProvider {
  readonly embedded?: object | undefined;
  readonly kubeconfig?: TopologyKubeconfig | undefined;
}

export interface TopologyKubeconfig {
  /** Path of the file, relative to the topology's folder. */
  readonly path: string;
  readonly context?: string | undefined;
  readonly uid?: string | undefined;
}

/** One problem of a topology, with its field and line. */
export interface Problem {
  /** `spec.relays[0].labls` */
  readonly field: string;
  readonly message: string;
  readonly line?: number;
}

/** Checks the properties that a schema can't express: the relation of parents and children, and the syntax of names and labels. */
export function checkTopology(topology: Topology): Problem[] {
  return [...checkNames(topology), ...checkParents(topology), ...checkAllLabels(topology), ...checkReplicas(topology)];
}

function checkNames({ name: tree, center, relays, clusters }: Topology): Problem[] {
  const problems: Problem[] = [];
  // The name of the tree is part of the identity in every certificate.
  const wrongTree = checkDnsLabel(tree);
  if (wrongTree) problems.push({ field: 'metadata.name', message: `"${tree}": ${wrongTree}` });
  const seen = new Map<string, string>();
  const members = [
    ...relays.map((relay, i) => ({ ...relay, field: `spec.relays[${i}]` })),
    ...clusters.map((cluster, i) => ({ ...cluster, field: `spec.clusters[${i}]` })),
  ];
  for (const { name, parent, field } of members) {
    const reason = checkNodeName(name);
    if (reason) problems.push({ field: `${field}.name`, message: `"${name}": ${reason}` });
    const path = childPath(parent, name);
    const other = seen.get(path);
    if (other) problems.push({ field: `${field}.name`, message: `"${path}" is named twice; the first is ${other}` });
    else seen.set(path, field);
  }
  const holders = [
    { ...center, field: 'spec.center' },
    ...relays.map((r, i) => ({ ...r, field: `spec.relays[${i}]` })),
  ];
  for (const { spaces, field } of holders) {
    const names = new Set<string>();
    for (const [i, space] of spaces.entries()) {
      const reason = checkDnsLabel(space.name) ?? (names.has(space.name) ? 'the space is named twice' : undefined);
      if (reason) problems.push({ field: `${field}.spaces[${i}].name`, message: `"${space.name}": ${reason}` });
      names.add(space.name);
    }
  }
  return problems;
}

function checkParents({ relays, clusters }: Topology): Problem[] {
  const problems: Problem[] = [];
  const paths = new Map(relays.map((relay) => [childPath(relay.parent, relay.name), relay]));
  const relayPaths = [...paths.keys()];
  const members = [
    ...relays.map((relay, i) => ({ ...relay, field: `spec.relays[${i}].parent`, relay: true })),
    ...clusters.map((cluster, i) => ({ ...cluster, field: `spec.clusters[${i}].parent`, relay: false })),
  ];
  for (const { name, parent, field, relay } of members) {
    if (parent === '' || paths.has(parent)) continue;
    if (relay && isCycle(relays, name)) {
      problems.push({
        field,
        message: `"${parent}": the relay would be above itself; a parent is named by its path from the center`,
      });
      continue;
    }
    const sameName = relayPaths.find((path) => nameOf(path) === parent);
    const hint = sameName ? `; did you mean "${sameName}"?` : `; relays are: ${relayPaths.join(', ') || 'none'}`;
    problems.push({ field, message: `"${parent}": there is no relay with this path${hint}` });
  }
  return problems;
}

/** Walks upwards by names, from a relay whose parent path does not exist. If the walk reaches the relay again, there is a cycle. */
function isCycle(relays: readonly TopologyRelay[], start: string): boolean {
  const seen = new Set<string>();
  for (let at: string | undefined = start; at !== undefined && !seen.has(at); ) {
    seen.add(at);
    const relay = relays.find((other) => other.name === at);
    at = relay && relay.parent !== '' ? nameOf(relay.parent) : undefined;
    if (at === start) return true;
  }
  return false;
}

/** Refuses settings that can belong to only one process, if a path has several processes: replicas share nothing. */
function checkReplicas({ relays }: Topology): Problem[] {
  const withReplicas = new Set(
    relays.filter(({ replicas }) => replicas > 1).map(({ parent, name }) => childPath(parent, name)),
  );
  return relays.flatMap(({ name, parent, replicas, spaces, listen }, i): Problem[] => {
    if (replicas === 1) return [];
    const field = `spec.relays[${i}]`;
    const port = listen?.apiPort ?? listen?.meshPort;
    return [
      ...(spaces.length > 0
        ? [
            {
              field: `${field}.spaces`,
              message: `"${name}" has ${replicas} replicas, and each would have a space "${spaces[0]!.name}" of its own: give the space to a relay above, or use replicas: 1`,
            },
          ]
        : []),
      ...(withReplicas.has(parent)
        ? [
            {
              field: `${field}.replicas`,
              message: `"${name}" and its parent "${parent}" both have replicas: put a relay without replicas between them, so that one node tracks one group of replicas, or use replicas: 1 for one of them`,
            },
          ]
        : []),
      ...(port === undefined
        ? []
        : [
            {
              field: `${field}.listen`,
              message: `${replicas} replicas can't listen on one port (${port}): leave the ports out, or use replicas: 1`,
            },
          ]),
    ];
  });
}

function checkAllLabels({ center, relays, clusters }: Topology): Problem[] {
  return [
    ...checkLabels(center.labels, 'spec.center.labels'),
    ...relays.flatMap((relay, i) => checkLabels(relay.labels, `spec.relays[${i}].labels`)),
    ...clusters.flatMap((cluster, i) => [
      ...checkLabels(cluster.labels, `spec.clusters[${i}].labels`),
      ...Object.keys(cluster.annotations).flatMap((key) => keyProblem(key, `spec.clusters[${i}].annotations`)),
      ...Object.keys(cluster.properties)
        .filter((key) => checkDnsSubdomain(key.toLowerCase()) !== undefined)
        .map((key) => ({
          field: `spec.clusters[${i}].properties.${key}`,
          message: `"${key}": ${checkDnsSubdomain(key.toLowerCase())}`,
        })),
    ]),
  ];
}

function checkLabels(labels: Record<string, string>, field: string): Problem[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const reason = checkLabelValue(value);
    return [
      ...keyProblem(key, field),
      ...(reason ? [{ field: `${field}.${key}`, message: `"${value}": ${reason}` }] : []),
    ];
  });
}

function keyProblem(key: string, field: string): Problem[] {
  const reason = checkLabelKey(key);
  if (reason) return [{ field: `${field}.${key}`, message: `"${key}": ${reason}` }];
  if (key.startsWith('tree.banyan.io/')) {
    return [
      {
        field: `${field}.${key}`,
        message: `"${key}": the prefix tree.banyan.io/ is reserved for labels of the tree itself: use another prefix`,
      },
    ];
  }
  return [];
}
