/**
 * The claims that each relay of a topology may make at its parent. The labels and properties that the topology gives the subtree are always among them.
 *
 * A relay without `claims` may claim everything else too, because people label Locations at any relay (`kubectl label location`), with two exceptions: the paths
 * of other nodes, and the keys that the topology gives only to other parts of the tree. A stolen relay can't claim `clearance: top` if only a site elsewhere has
 * a `clearance`.
 */
import { childPath, isAtOrBelow } from '../../core/identity/node-path.ts';
import { type SubtreeClaims, siteKeys } from '../../core/match/claims.ts';
import type { Topology } from './topology.ts';

type Values = Map<string, Set<string>>;

interface Given {
  readonly labels: Values;
  readonly properties: Values;
}

/** `given`: what the topology gives the subtree. `claims`: what the subtree may claim beyond. */
export interface PlannedClaims {
  readonly given: SubtreeClaims;
  readonly claims: SubtreeClaims;
}

/** Returns a function of the path of a relay. */
export function claimsIn(topology: Topology): (path: string) => PlannedClaims {
  const all = givenIn(topology, () => true);
  return (path) => claimsOf(topology, path, all);
}

function claimsOf(topology: Topology, path: string, all: Given): PlannedClaims {
  const relay = topology.relays.find((one) => childPath(one.parent, one.name) === path);
  const given = givenIn(topology, (node) => isAtOrBelow(node, path) || isAtOrBelow(path, node));
  const written = {
    labels: listed(given.labels, (values) => [...values].sort()),
    // The values of properties change all the time.
    properties: listed(given.properties, () => ['*']),
  };
  if (relay?.claims) return { given: written, claims: relay.claims };
  const claims = {
    labels: openExcept(all.labels, given.labels),
    properties: openExcept(all.properties, given.properties),
  };
  return { given: written, claims };
}

function givenIn({ relays, clusters }: Topology, isMeant: (path: string) => boolean): Given {
  const given: Given = { labels: new Map(), properties: new Map() };
  const add = (to: Values, from: Readonly<Record<string, string>>) => {
    for (const [key, value] of Object.entries(from)) to.set(key, (to.get(key) ?? new Set()).add(value));
  };
  for (const { parent, name, labels } of relays) if (isMeant(childPath(parent, name))) add(given.labels, labels);
  for (const { parent, name, labels, properties } of clusters) {
    if (!isMeant(childPath(parent, name))) continue;
    add(given.labels, labels);
    add(given.properties, properties);
  }
  return given;
}

function listed(values: Values, valuesOf: (values: ReadonlySet<string>) => string[]): SubtreeClaims['labels'] {
  return Object.fromEntries([...values].map(([key, set]) => [key, valuesOf(set)]));
}

function openExcept(all: Values, given: Values): SubtreeClaims['labels'] {
  const others = [...all.keys()].filter((key) => !given.has(key) && !key.startsWith(siteKeys.slice(0, -1))).sort();
  return { ...Object.fromEntries(others.map((key) => [key, []])), '*': ['*'] };
}
