/** Checks that the parent of each relay and cluster exists, and suggests relays that exist. */
import { childPath, nameOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import type { SchemaProblem } from '../../core/runtime/schema-problems.ts';
import { suggest } from '../../core/runtime/suggest.ts';
import type { Topology, TopologyRelay } from './topology.ts';

export function checkParents({ relays, clusters }: Topology): SchemaProblem[] {
  const paths = new Set(relays.map(({ parent, name }) => childPath(parent, name)));
  const clusterPaths = new Set(clusters.map(({ parent, name }) => childPath(parent, name)));
  const reachable = reachablePaths(relays);
  const members = [
    ...relays.map((relay, i) => ({ ...relay, path: ['spec', 'relays', i, 'parent'], isRelay: true })),
    ...clusters.map((cluster, i) => ({ ...cluster, path: ['spec', 'clusters', i, 'parent'], isRelay: false })),
  ];
  return members.flatMap(({ name, parent, path, isRelay }) => {
    if (parent === '' || paths.has(parent)) return [];
    const reason = ownPath(name, parent, reachable, isRelay) ?? (isRelay ? cycle(relays, name) : undefined);
    if (reason) return [{ path, message: `"${parent}"${reason}` }];
    const found = clusterPaths.has(parent) ? 'this is a cluster, and only a relay has nodes below it' : undefined;
    return [{ path, message: `"${parent}": ${found ?? noRelay(parent, reachable)}` }];
  });
}

/** Paths of relays whose parents all exist. */
function reachablePaths(relays: readonly TopologyRelay[]): string[] {
  const reachable = new Set<string>();
  for (let sizeBefore = -1; reachable.size > sizeBefore; ) {
    sizeBefore = reachable.size;
    for (const { parent, name } of relays) {
      if (parent === '' || reachable.has(parent)) reachable.add(childPath(parent, name));
    }
  }
  return relays.map(({ parent, name }) => childPath(parent, name)).filter((path) => reachable.has(path));
}

/** A relay or cluster whose parent is written as its own path. */
function ownPath(name: string, parent: string, reachable: readonly string[], isRelay: boolean): string | undefined {
  const above = parentOf(parent);
  if (nameOf(parent) !== name || !(above === '' || reachable.includes(above))) return undefined;
  const remedy = above === '' ? 'leave parent out for the center' : `write its parent, "${above}"`;
  return ` is the path of this ${isRelay ? 'relay' : 'cluster'}; ${remedy}`;
}

/** Walks upwards by names, from a relay whose parent path does not exist. If the walk reaches the relay again, there is a cycle. */
function cycle(relays: readonly TopologyRelay[], start: string): string | undefined {
  const seen = new Set<string>();
  for (let at: string | undefined = start; at !== undefined && !seen.has(at); ) {
    seen.add(at);
    const relay = relays.find((other) => other.name === at);
    at = relay && relay.parent !== '' ? nameOf(relay.parent) : undefined;
    if (at === start) return ': the relay would be above itself; a parent is named by its path from the center';
  }
  return undefined;
}

function noRelay(parent: string, reachable: readonly string[]): string {
  if (parent === shownPath('')) return 'there is no relay with this path; leave parent out for the center';
  const near = reachable.find((path) => nameOf(path) === parent) ?? suggest(parent, reachable);
  const hint = near ? `did you mean "${near}"?` : `relays are: ${reachable.join(', ') || 'none'}`;
  return `there is no relay with this path; ${hint}`;
}
