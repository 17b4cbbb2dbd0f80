/** The wanted state of a data directory for the nodes of a topology: the stores that go to another place, and the nodes that their parents have to forget. */
import { movesBetween } from '../topology/moves.ts';
import { type TreeRecord, topmost, type WantedTree } from './tree-record.ts';

export function wantedTree(
  before: TreeRecord | undefined,
  tree: Pick<WantedTree, 'name' | 'nodes' | 'logs'>,
): WantedTree {
  const ids = new Set(tree.nodes.map(({ id }) => id));
  const isGone = (id: string) => !ids.has(id);
  const left = [...(before?.withdraw ?? []), ...(before?.nodes ?? []).map(({ id }) => id)].filter(isGone);
  const pending = Object.entries(before?.moved ?? {}).filter(([to]) => ids.has(to));
  return {
    ...tree,
    moved: Object.fromEntries([...pending, ...movesBetween(before?.nodes ?? [], tree.nodes)]),
    withdraw: topmost([...new Set(left)]).sort(),
  };
}
