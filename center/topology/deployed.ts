/**
 * Compares a deployed tree, as its API shows it, with a topology. What the API does not show is taken to be as the topology says, and is named: so every
 * difference that is found is one, and nobody takes silence for equality.
 */
import { childPath, comparePaths, isAtOrBelow, isBelow, nameOf, parentOf } from '../../core/identity/node-path.ts';
import type { SubtreeClaims } from '../../core/match/claims.ts';
import { claimsIn } from './claims.ts';
import { differencesBetween, type TreeDifference } from './differences.ts';
import { movesBetween } from './moves.ts';
import type { PlannedNode } from './plan.ts';
import type { Topology, TopologyCluster, TopologyQuota, TopologySpace } from './topology.ts';

export interface SeenNode {
  readonly path: string;
  readonly role: PlannedNode['role'];
  /** `Never`: the node was admitted, and has not joined yet. */
  readonly state: 'Connected' | 'Disconnected' | 'Never' | 'Unknown';
  readonly replicas: number;
  /** Absent: the node does not answer, or is an agent. */
  readonly spaces?: readonly SeenSpace[];
  /** Of a center or a relay that shows them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Of an agent, at its parent. */
  readonly inventory?: SeenInventory;
  readonly claims?: Partial<SubtreeClaims>;
  readonly quota?: TopologyQuota;
}

export interface SeenSpace extends TopologySpace {
  /** The configuration of the node names the space. */
  readonly isConfigured: boolean;
}

/** An absent part: there is no such object. */
export interface SeenInventory {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly properties?: Readonly<Record<string, string>>;
}

export interface SeenTree {
  readonly nodes: readonly SeenNode[];
  /** Relays that can't be asked, with the reason. Nobody knows what is below them. */
  readonly silent: ReadonlyMap<string, string>;
}

export interface NotCompared {
  readonly path: string;
  readonly fields: readonly string[];
  /** Absent: the API does not show these fields. */
  readonly reason?: string;
}

export interface Comparison {
  /** The nodes of the topology, with claims as a parent of a deployed tree needs them. */
  readonly wanted: readonly PlannedNode[];
  readonly differences: readonly TreeDifference[];
  readonly notCompared: readonly NotCompared[];
}

/** `planned`: the nodes of the topology. */
export function compareDeployed(seen: SeenTree, topology: Topology, planned: readonly PlannedNode[]): Comparison {
  const wanted = planned.filter(({ replica }) => replica === 0).map((node) => comparable(node, topology));
  const plannedAt = new Map(wanted.map((node) => [node.path, node]));
  const isHidden = (path: string) => [...seen.silent.keys()].some((silent) => isBelow(path, silent));
  const left = seen.nodes.filter((one) => isLeftBehind(one, seen, plannedAt));
  const joined = seen.nodes.filter((one) => one.state !== 'Never' && !left.includes(one));
  const waiting = seen.nodes.filter(({ state }) => state === 'Never');
  const had = joined.map((one) => shownNode(one, plannedAt, seen));
  const moves = movesBetween(had, wanted);
  const admitted = waiting.filter(({ path }) => plannedAt.has(path) && !(path in moves));
  const before = [
    ...had,
    ...admitted.map((one) => shownNode(one, plannedAt, seen)),
    ...wanted.filter(({ path }) => isHidden(path)),
  ];
  const found = differencesBetween({ nodes: before, withdraw: left.map(({ path }) => path) }, { nodes: wanted }).map(
    (one) => withHiddenLoss(one, seen),
  );
  const gone = waiting.filter(({ path }) => !plannedAt.has(path));
  return {
    wanted,
    differences: [
      ...found,
      ...admitted.map(({ role, path }): TreeDifference => ({ action: 'join', role, path, fields: [] })),
      ...gone.map(({ role, path }): TreeDifference => ({ action: 'remove', role, path, fields: [] })),
    ],
    notCompared: notCompared(wanted, seen, deployedPaths(topology)),
  };
}

/** The former place of a node that has joined at its new one: nothing runs there any more, and the parent still knows it. */
function isLeftBehind(
  { path, role, state }: SeenNode,
  { nodes }: SeenTree,
  plannedAt: ReadonlyMap<string, PlannedNode>,
): boolean {
  if (state === 'Connected' || state === 'Never' || plannedAt.has(path)) return false;
  const successors = nodes.filter((one) => one.role === role && nameOf(one.path) === nameOf(path) && one.path !== path);
  const [successor, ...others] = successors;
  return others.length === 0 && successor?.state === 'Connected' && plannedAt.has(successor.path);
}

/** The node of the topology, with the fields that the API shows in the form in which it shows them. */
function comparable(node: PlannedNode, topology: Topology): PlannedNode {
  return {
    ...node,
    spaces: node.spaces.map(settingsOfSpace).sort(byName),
    claims: node.claims && claimsAtParent(topology, node.path),
    quota: quotaOf(node.quota),
  };
}

/** A parent of a deployed tree knows no topology, so the claims have to contain what the topology gives the subtree. */
function claimsAtParent(topology: Topology, path: string): SubtreeClaims {
  const { given, claims } = claimsIn(topology)(path);
  const both = (a: ClaimedKeys, b: ClaimedKeys) => {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
    return sorted(Object.fromEntries(keys.map((key) => [key, [...new Set([...(a[key] ?? []), ...(b[key] ?? [])])]])));
  };
  return { labels: both(given.labels, claims.labels), properties: both(given.properties, claims.properties) };
}

type ClaimedKeys = SubtreeClaims['labels'];

/** The order of values means nothing. */
function sorted(keys: ClaimedKeys = {}): ClaimedKeys {
  return Object.fromEntries(Object.entries(keys).map(([key, values]) => [key, values.toSorted()]));
}

/** The node as it is seen. What nobody sees is as the topology says, for the node of this place or else the only one of this name. */
function shownNode(seen: SeenNode, plannedAt: ReadonlyMap<string, PlannedNode>, tree: SeenTree): PlannedNode {
  const { path, role, replicas, spaces, labels, claims, quota } = seen;
  const named = [...plannedAt.values()].filter((node) => node.role === role && nameOf(node.path) === nameOf(path));
  const base = plannedAt.get(path) ?? (named.length === 1 ? named[0] : undefined);
  return {
    ...(base ?? unknownNode),
    path,
    id: path,
    role,
    replicas,
    ...(path === '' ? {} : { parent: parentOf(path) }),
    ...(labels ? { labels: { ...labels } } : {}),
    ...(spaces ? { spaces: spaces.map(settingsOfSpace).sort(byName) } : {}),
    claims: claims && { labels: sorted(claims.labels), properties: sorted(claims.properties) },
    quota: quotaOf(quota),
    // Nobody sees the clusters of a relay that can't be asked.
    ...(tree.silent.has(path) ? {} : { inventory: inventoryAt(path, tree) }),
  };
}

function inventoryAt(path: string, { nodes }: SeenTree): TopologyCluster[] {
  return nodes
    .filter((one) => one.inventory && parentOf(one.path) === path && one.path !== '')
    .map((one) => ({ ...one.inventory, name: nameOf(one.path) }) as TopologyCluster);
}

const unknownNode: Omit<PlannedNode, 'path' | 'id' | 'role' | 'replicas'> = {
  replica: 0,
  parents: [],
  labels: {},
  spaces: [],
  relays: [],
  children: {},
  inventory: [],
};

function settingsOfSpace({ name, type, delivery, limits }: TopologySpace): TopologySpace {
  return { name, type, ...(delivery ? { delivery } : {}), ...(limits ? { limits } : {}) };
}

function byName(a: TopologySpace, b: TopologySpace): number {
  return comparePaths(a.name, b.name);
}

function quotaOf(quota: TopologyQuota | undefined): TopologyQuota | undefined {
  const written = Object.entries(quota ?? {}).filter(([, value]) => value !== undefined);
  return written.length === 0 ? undefined : Object.fromEntries(written);
}

/** Nobody knows which clusters are below a relay that can't be asked. */
function withHiddenLoss(difference: TreeDifference, { silent }: SeenTree): TreeDifference {
  const { action, path } = difference;
  if (action !== 'remove') return difference;
  const hidden = [...silent.keys()].filter((one) => isAtOrBelow(one, path));
  if (hidden.length === 0) return difference;
  return { ...difference, takesAway: `whatever is at and below ${hidden.join(', ')}, which can't be asked` };
}

/** Settings that only the configuration of the node has. */
const hiddenFields = [
  'listen',
  'issuer',
  'link',
  'limits',
  'egress',
  'audit',
  'encryption',
  'access',
  'authentication',
  'frontProxy',
  'accept',
] as const satisfies readonly (keyof PlannedNode)[];

function notCompared(
  wanted: readonly PlannedNode[],
  { nodes, silent }: SeenTree,
  deployed: ReadonlySet<string>,
): NotCompared[] {
  const fields = wanted.flatMap((node): NotCompared[] => {
    const hidden: string[] = hiddenFields.filter((field) => node[field] !== undefined);
    if (deployed.has(node.path)) hidden.push('deploy');
    const seen = nodes.find(({ path }) => path === node.path);
    if (seen && !seen.labels && Object.keys(node.labels).length > 0) hidden.push('labels');
    return hidden.length === 0 ? [] : [{ path: node.path, fields: hidden.sort() }];
  });
  const unasked = [...silent].map(([path, reason]) => ({ path, fields: ['spaces', 'everything below'], reason }));
  return [...fields, ...unasked];
}

/** The nodes whose way of installation the topology gives. */
function deployedPaths({ center, relays, clusters }: Topology): ReadonlySet<string> {
  const members = [...relays, ...clusters].filter(({ deploy }) => deploy);
  return new Set([...(center.deploy ? [''] : []), ...members.map(({ parent, name }) => childPath(parent, name))]);
}
