/**
 * Compares a deployed tree, as its API shows it, with a topology. What the API does not show is taken to be as the topology says, and is named: so every
 * difference that is found is one, and nobody takes silence for equality.
 */
import { childPath, comparePaths, isAtOrBelow, isBelow, nameOf, parentOf } from '../../core/identity/node-path.ts';
import type { SubtreeClaims } from '../../core/match/claims.ts';
import { ownField } from '../../core/object/json-value.ts';
import { claimsIn, type PlannedClaims } from './claims.ts';
import { differencesBetween, type TreeDifference } from './differences.ts';
import { admittedHosts } from './hosts.ts';
import { likenesses, movesBetween } from './moves.ts';
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
  /** Absent: the node is an agent, or shows no labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Only for an agent: its objects at its parent. */
  readonly inventory?: SeenInventory;
  readonly claims?: Partial<SubtreeClaims>;
  readonly quota?: TopologyQuota;
  /** Of a relay: the hosts that its parent admits. */
  readonly hosts?: readonly string[];
}

/** A node with the hosts that its parent admits, if it is a relay. */
interface DeployedNode extends PlannedNode {
  readonly hosts?: readonly string[];
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
  const claims = claimsIn(topology);
  const seenAt = new Map(seen.nodes.map((node) => [node.path, node]));
  // Hosts that persons have admitted stay.
  const hostsAt = ({ path }: PlannedNode) => [...(seenAt.get(path)?.hosts ?? []), ...admittedHosts(topology, path)];
  const wanted = planned.filter(({ replica }) => replica === 0).map((node) => comparable(node, claims, hostsAt));
  const plannedAt = new Map(wanted.map((node) => [node.path, node]));
  const shown = shownIn(seen, plannedAt);
  const left = leftBehind(seen, plannedAt);
  const joined = seen.nodes.filter((one) => one.state !== 'Never' && !left.has(one));
  const waiting = seen.nodes.filter(({ state }) => state === 'Never');
  const had = joined.map(shown);
  const moves = movesBetween(had, wanted);
  const admitted = waiting.filter(({ path, role }) => plannedAt.has(path) && (role === 'relay' || !moves.has(path)));
  const isHidden = (path: string) => [...seen.silent.keys()].some((silent) => isBelow(path, silent));
  const before = {
    nodes: [...had, ...admitted.map(shown), ...wanted.filter(({ path }) => isHidden(path))],
    withdraw: [...left].map(({ path }) => path),
  };
  const found = differencesBetween(before, { nodes: wanted })
    .flatMap(withSuccessor)
    .map((one) => withHiddenLoss(one, seen));
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

/**
 * A relay does not move: everything below it has a certificate for its present path. Another relay takes its place, and serves the children that have come, while
 * the former one serves the others.
 */
function withSuccessor(difference: TreeDifference): TreeDifference[] {
  const { action, role, path, from, takesAway } = difference;
  if (action !== 'move' || role !== 'relay' || from === undefined) return [difference];
  return [
    { action: 'add', role, path, from, fields: [] },
    { action: 'remove', role, path: from, fields: [], ...(takesAway === undefined ? {} : { takesAway }) },
  ];
}

/** The former places of agents that have joined at their new ones: nothing runs there any more, and the parents still know them. */
function leftBehind({ nodes }: SeenTree, plannedAt: ReadonlyMap<string, PlannedNode>): ReadonlySet<SeenNode> {
  const agents = nodes.filter(({ role }) => role === 'agent');
  const named = groupedBy(agents, roleAndName);
  const isLeft = (one: SeenNode) => {
    if (one.state === 'Connected' || one.state === 'Never' || plannedAt.has(one.path)) return false;
    const others = named.get(roleAndName(one))!.filter(({ path }) => path !== one.path);
    const successor = onlyAlike(one, others);
    return successor?.state === 'Connected' && plannedAt.has(successor.path);
  };
  return new Set(agents.filter(isLeft));
}

function roleAndName({ role, path }: Pick<PlannedNode, 'role' | 'path'>): string {
  return `${role} ${nameOf(path)}`;
}

function groupedBy<T>(items: Iterable<T>, keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** The node of the topology, with the fields that the API shows in the form in which it shows them. `hostsAt`: the hosts that the parent of a relay is to admit. */
function comparable(
  node: PlannedNode,
  claims: ReturnType<typeof claimsIn>,
  hostsAt: (node: PlannedNode) => readonly string[],
): DeployedNode {
  return {
    ...node,
    ...(node.role === 'relay' ? { hosts: [...new Set(hostsAt(node))].sort() } : {}),
    spaces: node.spaces.map(settingsOfSpace).sort(byName),
    claims: node.claims && claimsAtParent(claims(node.path)),
    quota: quotaOf(node.quota),
  };
}

/** A parent of a deployed tree knows no topology, so the claims have to contain what the topology gives the subtree. */
function claimsAtParent({ given, claims }: PlannedClaims): SubtreeClaims {
  return {
    labels: bothOf(given.labels, claims.labels),
    properties: bothOf(given.properties, claims.properties),
  };
}

function bothOf(a: ClaimedKeys, b: ClaimedKeys): ClaimedKeys {
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  const valuesOf = (key: string) => [...new Set([...(ownField(a, key) ?? []), ...(ownField(b, key) ?? [])])];
  return sorted(Object.fromEntries(keys.map((key) => [key, valuesOf(key)])));
}

type ClaimedKeys = SubtreeClaims['labels'];

/** The order of values means nothing. */
function sorted(keys: ClaimedKeys = {}): ClaimedKeys {
  return Object.fromEntries(Object.entries(keys).map(([key, values]) => [key, values.toSorted()]));
}

/** Returns a function that gives a seen node in the form of a planned one. */
function shownIn(tree: SeenTree, plannedAt: ReadonlyMap<string, PlannedNode>): (seen: SeenNode) => DeployedNode {
  const plannedNamed = groupedBy(plannedAt.values(), roleAndName);
  const childrenOf = groupedBy(tree.nodes, ({ path }) => parentOf(path));
  return (seen) => {
    const base = plannedAt.get(seen.path) ?? onlyAlike(seen, plannedNamed.get(roleAndName(seen)) ?? []);
    // Nobody sees the clusters of a relay that can't be asked.
    const inventory = tree.silent.has(seen.path) ? {} : { inventory: inventoryOf(childrenOf.get(seen.path) ?? []) };
    return { ...shownNode(seen, base ?? unknownNode), ...inventory };
  };
}

/** The only one of the nodes that may be the node at another place. Undefined: there is none, or there are several. */
function onlyAlike<T extends { readonly path: string }>(
  { path }: { readonly path: string },
  nodes: readonly T[],
): T | undefined {
  const alike = likenesses(path).map((isAlike) => nodes.filter((one) => isAlike(one.path)));
  return alike.find(({ length }) => length === 1)?.[0];
}

/** The node as it is seen. `base`: the node of the topology at this place, or else the one that may be this node. What nobody sees is as there. */
function shownNode(
  { path, role, replicas, spaces, labels, claims, quota, hosts = [] }: SeenNode,
  base: typeof unknownNode,
): DeployedNode {
  return {
    ...base,
    path,
    id: path,
    role,
    replicas,
    ...(path === '' ? {} : { parent: parentOf(path) }),
    ...(labels ? { labels: { ...labels } } : {}),
    ...(role === 'relay' ? { hosts: hosts.toSorted() } : {}),
    ...(spaces ? { spaces: spaces.map(settingsOfSpace).sort(byName) } : {}),
    claims: claims && { labels: sorted(claims.labels), properties: sorted(claims.properties) },
    quota: quotaOf(quota),
  };
}

function inventoryOf(children: readonly SeenNode[]): TopologyCluster[] {
  return children.flatMap(({ path, inventory }) =>
    inventory ? [{ ...inventory, name: nameOf(path) } as TopologyCluster] : [],
  );
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
  const seenAt = new Map(nodes.map((node) => [node.path, node]));
  const fields = wanted.flatMap((node): NotCompared[] => {
    const hidden: string[] = hiddenFields.filter((field) => node[field] !== undefined);
    if (deployed.has(node.path)) hidden.push('deploy');
    const seen = seenAt.get(node.path);
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
