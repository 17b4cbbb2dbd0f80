/** The tree of a run, and the names of its nodes. */
import type { Labels } from './action.ts';
import type { Chance } from './chance.ts';

export interface PlannedNode {
  readonly path: string;
  readonly role: 'center' | 'relay' | 'agent';
  readonly labels: Labels;
  /** Spaces of type Workload. */
  readonly spaces: readonly string[];
  /** For a relay: the number of processes with its path. Absent: one. */
  readonly replicas?: number;
  /** True: no agent is at this place yet. See moves.ts. */
  readonly isVacant?: boolean;
}

/**
 * `spec.move` of the placements of a run, except for the one of the theme in ordered.ts. The runs end earlier than the default deadline, and the checks expect that
 * an old copy goes at once.
 */
export const withoutOrder = { strategy: 'None' } as const;

export const depthMax = 4;

/** The number of nodes. Most trees are small: few nodes are enough to show a mistake. */
function sizeOf(chance: Chance): number {
  const at = chance.fraction();
  if (at < 0.88) return 2 + chance.below(5);
  if (at < 0.98) return 7 + chance.below(8);
  return at < 0.997 ? 16 + chance.below(16) : 32 + chance.below(29);
}

export function treeOf(chance: Chance): PlannedNode[] {
  const size = sizeOf(chance);
  const nodes: PlannedNode[] = [{ path: '', role: 'center', labels: {}, spaces: ['retail'] }];
  while (nodes.length < size) {
    const relays = nodes.filter(({ role, path }) => role !== 'agent' && depthOf(path) < depthMax);
    // Mostly the newest relay becomes the parent, so that chains are deeper than in a star.
    const parent = chance.is(0.5) ? relays.at(-1)! : chance.of(relays);
    const isRelay = depthOf(parent.path) < depthMax - 1 && nodes.length + 1 < size && chance.is(0.4);
    const name = `${isRelay ? 'r' : 'a'}${nodes.length}`;
    nodes.push({
      path: parent.path === '' ? name : `${parent.path}:${name}`,
      role: isRelay ? 'relay' : 'agent',
      labels: isRelay ? labelsOf(chance, 'region') : labelsOf(chance, 'env', 'tier'),
      spaces: isRelay && chance.is(0.25) ? ['ops'] : [],
    });
  }
  return nodes;
}

export function depthOf(path: string): number {
  return path === '' ? 0 : path.split(':').length;
}

export function isChildOf({ path }: { readonly path: string }, parent: string): boolean {
  return path !== '' && parentOf(path) === parent;
}

/** The parent's path of a node that is not the center. */
export function parentOf(path: string): string {
  return path.includes(':') ? path.slice(0, path.lastIndexOf(':')) : '';
}

export function sourceOf(node: PlannedNode, space: string): string {
  return `${node.path === '' ? 'center' : node.path.replaceAll(':', '.')}.${space}`;
}

/** Compares only the names: at or below the center is only the center itself. */
export function isAtOrBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}:`);
}

export function nodeOfSource(source: string): string {
  const node = source.slice(0, source.lastIndexOf('.'));
  return node === 'center' ? '' : node.replaceAll('.', ':');
}

export const values: Readonly<Record<string, readonly string[]>> = {
  env: ['prod', 'test'],
  tier: ['one', 'two', 'three'],
  region: ['eu', 'us'],
};

export function labelsOf(chance: Chance, ...keys: readonly string[]): Labels {
  const given = keys.filter(() => chance.is(0.85));
  return Object.fromEntries(given.map((key) => [key, chance.of(values[key]!)]));
}

/** The number of replicas, keyed by the path of a place with replicas. */
export function severalOf(nodes: readonly PlannedNode[]): ReadonlyMap<string, number> {
  return new Map(nodes.flatMap(({ path, replicas }) => (replicas === undefined ? [] : [[path, replicas]])));
}

/** The sources whose objects reach the place from above. */
export function sourcesAbove(sources: readonly string[], path: string): string[] {
  return sources.filter((source) => nodeOfSource(source) === '' || isAtOrBelow(path, nodeOfSource(source)));
}
