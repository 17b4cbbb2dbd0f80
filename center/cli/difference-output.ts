/** The output of `banyan topology diff` and `apply` about the differences between a tree and a topology. */
import { shownPath } from '../../core/identity/node-path.ts';
import type { TreeDifference, TreeDifferenceAction } from '../topology/differences.ts';
import type { Output } from './output.ts';

export function differenceOutput(found: readonly TreeDifference[]): Output {
  const text = found.length === 0 ? 'no differences' : found.map(lineOf).join('\n');
  return { data: { differences: found }, names: found.map(({ path }) => `node/${shownPath(path)}`), text, wide: text };
}

/** The losses to which a person has to agree. Undefined: nothing is taken away. `nodes`: those of the tree that runs. */
export function lossesOf(
  nodes: readonly { readonly path: string }[],
  found: readonly TreeDifference[],
): string | undefined {
  const losses = found.flatMap(({ path, takesAway }) =>
    takesAway === undefined ? [] : [`${shownPath(path)}: ${takesAway}`],
  );
  return losses.length === 0 ? wholeLoss(nodes, found) : losses.join('\n  ');
}

/** Nobody means to remove the whole tree, even if it has no workloads yet. */
function wholeLoss(nodes: readonly { readonly path: string }[], found: readonly TreeDifference[]): string | undefined {
  const others = nodes.filter(({ path }) => path !== '');
  const removed = new Set(found.filter(({ action }) => action === 'remove').map(({ path }) => path));
  return others.length > 0 && others.every(({ path }) => removed.has(path))
    ? 'center: every node below it, and their workloads'
    : undefined;
}

const signs = { add: '+', remove: '-', move: '>', change: '~', withdraw: '-', join: '+' } as const;
const states: Partial<Record<TreeDifferenceAction, string>> = {
  withdraw: ': runs no more; its parent still knows it',
  join: ': is admitted, and has not joined yet',
};

function lineOf({ action, role, path, from, fields, takesAway }: TreeDifference): string {
  const node = `${role === undefined || role === 'center' ? '' : `${role === 'agent' ? 'cluster' : role} `}${shownPath(path)}`;
  const where = from === undefined ? '' : `, so far ${from}`;
  const still = states[action] ?? '';
  const what = fields.map(
    ({ field, before, after }) =>
      `    ${field}: ${before === undefined ? 'none' : JSON.stringify(before)} -> ${after === undefined ? 'none' : JSON.stringify(after)}`,
  );
  const loss = takesAway === undefined ? [] : [`    takes away ${takesAway}`];
  return [`${signs[action]} ${node}${where}${still}`, ...what, ...loss].join('\n');
}
