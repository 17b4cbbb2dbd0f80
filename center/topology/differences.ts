/** The differences between the tree that runs and the tree of a topology, as people read them. */
import { isAtOrBelow, nameOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { LogRotation } from '../../core/runtime/log-rotation.ts';
import { movesBetween } from './moves.ts';
import type { PlannedNode } from './plan.ts';

/**
 * `withdraw`: the node runs no more, and its parent still knows it: an earlier change was interrupted. `join`: the parent has admitted the node, and the node has
 * not joined yet.
 */
export type TreeDifferenceAction = 'add' | 'remove' | 'move' | 'change' | 'withdraw' | 'join';

export interface FieldDifference {
  readonly field: string;
  /** Absent: the field is not there. */
  readonly before?: unknown;
  readonly after?: unknown;
}

export interface TreeDifference {
  readonly action: TreeDifferenceAction;
  /** Absent for `withdraw`. */
  readonly role?: PlannedNode['role'];
  /** The path of the node: in the new tree, if it is there. */
  readonly path: string;
  /** For a move: the former path. For an added relay of a deployed tree: the path of the relay whose children it takes over. */
  readonly from?: string;
  readonly fields: readonly FieldDifference[];
  /** Which workloads the change may take away, and from where. Absent: none. */
  readonly takesAway?: string;
}

export interface ComparedTree {
  readonly nodes: readonly PlannedNode[];
  readonly withdraw?: readonly string[];
  readonly logs?: LogRotation | undefined;
}

/** Fields that follow from other nodes, or that show where the node is. */
const derived: readonly string[] = [
  'path',
  'id',
  'role',
  'replica',
  'parent',
  'parents',
  'relays',
  'children',
  'inventory',
];

export function differencesBetween(before: ComparedTree, after: ComparedTree): TreeDifference[] {
  const [had, has] = [placesOf(before.nodes), placesOf(after.nodes)];
  const moves = movesBetween([...had.values()], [...has.values()]);
  const movedFrom = new Set(moves.values());
  const found: TreeDifference[] = [];
  for (const [path, node] of has) {
    const from = moves.get(path);
    const former = had.get(from ?? path);
    const fields = former ? fieldsBetween(settingsOf(former, had, before.logs), settingsOf(node, has, after.logs)) : [];
    const { role } = node;
    if (!former) found.push({ action: 'add', role, path, fields });
    else if (from !== undefined) {
      found.push({
        action: 'move',
        role,
        path,
        from,
        fields,
        ...lossOf(node, fields, after.nodes, moves.get(node.parent ?? '') === parentOf(from) ? undefined : from),
      });
    } else if (fields.length > 0) {
      found.push({ action: 'change', role, path, fields, ...lossOf(node, fields, after.nodes) });
    }
  }
  for (const [path, node] of [...had].reverse()) {
    if (has.has(path) || movedFrom.has(path)) continue;
    found.push({ action: 'remove', role: node.role, path, fields: [], ...removalLoss(node) });
  }
  for (const path of before.withdraw ?? []) {
    if (!has.has(path)) found.push({ action: 'withdraw', path, fields: [] });
  }
  return found;
}

/** One node for each path: replicas are a field of the first one. */
function placesOf(nodes: readonly PlannedNode[]): Map<string, PlannedNode> {
  return new Map(nodes.filter(({ replica }) => replica === 0).map((node) => [node.path, node]));
}

/** The settings of the node as a topology has them. Labels, annotations and properties of a cluster are in the inventory of its parent. */
function settingsOf(
  node: PlannedNode,
  places: ReadonlyMap<string, PlannedNode>,
  logs: LogRotation | undefined,
): Record<string, unknown> {
  const own = Object.entries(node).filter(([field]) => !derived.includes(field));
  const parent = node.role === 'agent' ? places.get(node.parent ?? '') : undefined;
  const entry = parent?.inventory.find(({ name }) => name === nameOf(node.path));
  const { labels, annotations, properties } = entry ?? {};
  return {
    ...Object.fromEntries(own),
    ...(entry ? { labels, annotations, properties } : {}),
    ...(node.role === 'center' ? { logs } : {}),
  };
}

function fieldsBetween(a: Record<string, unknown>, b: Record<string, unknown>): FieldDifference[] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return names.flatMap((field) => {
    const [before, after] = [a[field], b[field]];
    if (equalJson(before, after)) return [];
    return [{ field, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
  });
}

function removalLoss({ role, spaces }: PlannedNode): Pick<TreeDifference, 'takesAway'> {
  if (role === 'agent') return { takesAway: 'the workloads at this cluster' };
  const names = spaces.map(({ name }) => name);
  return names.length === 0 ? {} : { takesAway: `the objects of ${names.join(', ')}, and their copies below` };
}

/** A change of labels may end the match of placements, and a removed space takes its objects along. */
function lossOf(
  node: PlannedNode,
  fields: readonly FieldDifference[],
  nodes: readonly PlannedNode[],
  from?: string,
): Pick<TreeDifference, 'takesAway'> {
  const losses: string[] = [];
  const removed = fields.flatMap(removedSpaces);
  if (removed.length > 0) losses.push(`the objects of ${removed.join(', ')}, and their copies below`);
  const hasClusters = nodes.some(({ role, path }) => role === 'agent' && isAtOrBelow(path, node.path));
  const lessLabels = fields.some((one) => ['labels', 'properties'].includes(one.field) && losesKeys(one));
  if (lessLabels && hasClusters) losses.push('workloads whose placements select by the former labels or properties');
  if (from !== undefined && hasClusters && parentOf(from) !== '') {
    losses.push(
      `workloads of spaces at ${shownPath(parentOf(from))}, and those whose placements select by the former path`,
    );
  }
  return losses.length === 0 ? {} : { takesAway: losses.join('; ') };
}

/** Names of the spaces that the node has no more. */
export function removedSpaces({ field, before, after }: FieldDifference): string[] {
  if (field !== 'spaces') return [];
  const named = (spaces: unknown) => (spaces ?? []) as readonly { readonly name: string; readonly type: string }[];
  return named(before)
    .filter(({ name, type }) => !named(after).some((one) => one.name === name && one.type === type))
    .map(({ name }) => name);
}

/** Whether a key has gone, or has another value. */
function losesKeys({ before, after }: FieldDifference): boolean {
  const [a, b] = [(before ?? {}) as Record<string, string>, (after ?? {}) as Record<string, string>];
  return Object.entries(a).some(([key, value]) => b[key] !== value);
}
