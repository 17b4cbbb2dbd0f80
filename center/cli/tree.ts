/** `banyan tree`: the tree as its nodes show it. The command asks each relay about itself and its children. */

import { comparePaths, depthOf, isAtOrBelow, nameOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';
import { didYouMean } from './arguments.ts';
import { isNodeContext, nodeContexts, nodeIn } from './node-contexts.ts';
import { nodeObjects, syncTargets } from './object-paths.ts';

interface ShownNodeStatus {
  version?: string;
  session?: { state?: string; since?: string; transport?: string };
  rootContactAt?: string;
  lag?: { entries?: number };
  agents?: number;
  held?: { entries: number };
  heldInMailbox?: { entries: number };
  rolledBack?: { source: string; had: number; seen: number }[];
  quarantined?: { count: number };
  refused?: { count: number };
  conditions?: { type: string; status: string; message?: string }[];
}

/** Conditions whose message is shown as it is. */
const plainAlarms: readonly string[] = [
  'FeedDiverged',
  'CloneRefused',
  'DiskLow',
  'WaitsForParent',
  'ClusterTrouble',
  'LimitReached',
  'CertificateTrouble',
];

interface ShownNodeSpec {
  path?: string;
  role?: string;
}

export interface TreeRow {
  readonly path: string;
  readonly depth: number;
  readonly role: string;
  readonly session: string;
  readonly lag: string;
  readonly below: string;
  /** The transport of the session with the parent, and its way. */
  readonly transport: string;
  /** The version of the program. Empty: it is unknown. */
  readonly version: string;
  /** Alarms that need a person: held entries, a store that was restored. */
  readonly notes: string;
  /** When the node last received something from the root, as the node itself reports. Absent: the same time as for the parent. */
  readonly receivedAtMs?: number;
  /** When the node lost its session, as its parent reports. Absent while the node has a session, with whichever replica of the parent. */
  readonly detachedAtMs?: number;
  /** True: the node has never attached, as its parent reports. */
  readonly isNew?: boolean;
  /** Precedence of the row. The parent's report has precedence over the node's own report, and any report over no report. */
  readonly rank: number;
}

/**
 * Returns the rows from `root` downwards. Asks every node of the kubeconfig at or below `root`, and also the parent of `root`, because only the parent shows
 * an agent. For session and lag of a child, the parent's report counts. Throws NotFound if no node shows `root`.
 */
export async function treeRows(api: Pick<NodeApiClient, 'contexts' | 'list'>, root: string): Promise<TreeRow[]> {
  const contexts = api.contexts();
  const below = contexts.filter((name) => isNodeContext(name) && isShown(nodeIn(name), root));
  const parents = root === '' ? [] : nodeContexts(contexts, parentOf(root));
  const rows = new Map<string, TreeRow>();
  const paths = [...new Set([...below, ...parents])].map(nodeIn);
  for (const nodeRows of await Promise.all(paths.map((path) => rowsOf(api, path, depthOf(root))))) {
    for (const row of nodeRows) {
      const before = rows.get(row.path);
      rows.set(row.path, before ? mergedRow(before, row) : row);
    }
  }
  const shown = [...rows.values()].filter(({ path }) => isShown(path, root));
  if (shown.length > 0) return withCountingReplica(shown.sort((a, b) => comparePaths(a.path, b.path)));
  const silent = parents.map((name) => rows.get(nodeIn(name))).find((row) => row?.rank === 0);
  if (silent) return [unknownRow(root, silent)];
  throw new BanyanError(
    'NotFound',
    `there is no node "${root}": ${didYouMean(root, [...rows.keys()], `for a list: ${cliCommand('tree')}`)}`,
  );
}

/** Each replica counts the destinations that are attached to it. The row of a replica without any names the replica that counts some. */
function withCountingReplica(rows: readonly TreeRow[]): TreeRow[] {
  const counting = new Map(
    rows.filter(({ below }) => Number(below) > 0).map(({ path }) => [splitReplica(path).name, nameOf(path)]),
  );
  return rows.map((row) => {
    const other = counting.get(splitReplica(row.path).name);
    if (row.below !== '0' || other === undefined) return row;
    return withNote(row, `destinations are counted by ${other}`);
  });
}

function withNote(row: TreeRow, note = ''): TreeRow {
  return { ...row, notes: [row.notes, note].filter((one) => one !== '').join('; ') };
}

/** Whether a cluster takes placements, as `banyan cordon` and `banyan drain` set it. Empty: it does. */
function cordonNote({ spec, status }: KubeObject): string {
  const { unschedulable, evictAfter } = (spec ?? {}) as { unschedulable?: boolean; evictAfter?: string };
  if (evictAfter === undefined) return unschedulable ? 'cordoned' : '';
  const { delivered } = (status ?? {}) as { delivered?: boolean };
  return delivered === false ? 'drained' : `drained from ${evictAfter} on`;
}

/** The row of a node that may or may not exist: only the parent knows this, and the parent does not answer. */
function unknownRow(root: string, parent: TreeRow): TreeRow {
  const session = `unknown: node/${shownPath(parent.path)} is ${parent.session}`;
  return { ...parent, path: root, depth: 0, role: '', session };
}

/** The rank of a report by a parent to which the node is attached. */
const attachedRank = 2.5;
/** The rank of a report by a parent to which the node has never been attached. Another replica of the parent may know more. */
const newRank = 1.9;

/** Whether the row is shown: the path is at or below `root`, or is another replica of `root`. */
function isShown(path: string, root: string): boolean {
  return isAtOrBelow(path, root) || splitReplica(path).name === root;
}

/** Merges two reports about one node. The session is from the report with the higher rank, and the notes are from both. */
function mergedRow(a: TreeRow, b: TreeRow): TreeRow {
  const [lower, more] = a.rank < b.rank ? [a, b] : [b, a];
  const notes = [...new Set([more.notes, lower.notes].flatMap((one) => (one === '' ? [] : one.split('; '))))];
  const receivedAtMs = earliestMs(lower.receivedAtMs, more.receivedAtMs);
  const { detachedAtMs, isNew, ...row } = { ...lower, ...more, notes: notes.join('; ') };
  return {
    ...row,
    ...(receivedAtMs === undefined ? {} : { receivedAtMs }),
    ...(detachedAtMs === undefined || more.rank === attachedRank ? {} : { detachedAtMs }),
    ...(isNew && more.rank === newRank ? { isNew } : {}),
  };
}

async function rowsOf(api: Pick<NodeApiClient, 'list'>, path: string, rootDepth: number): Promise<TreeRow[]> {
  const context = `node/${shownPath(path)}`;
  // Replicas have one path, and the same children.
  const replicaPath = splitReplica(path).name;
  try {
    const [nodes, targets] = await Promise.all([api.list(context, nodeObjects), api.list(context, syncTargets)]);
    const notes = new Map(targets.map((target) => [target.metadata.name, cordonNote(target)]));
    return nodes.flatMap((node) => {
      const nodePath = (node.spec as ShownNodeSpec | undefined)?.path ?? '';
      if (nodePath === replicaPath) return [{ ...rowOf(node, rootDepth, 1), path }];
      if (parentOf(nodePath) !== replicaPath) return [];
      return [withNote(rowOf(node, rootDepth, 2), notes.get(nameOf(nodePath)))];
    });
  } catch (error) {
    const session = `unreachable: ${describeError(error)}`;
    return [
      {
        path,
        depth: depthOf(path) - rootDepth,
        role: path === '' ? 'Center' : 'Relay',
        session,
        lag: '',
        below: '',
        transport: '',
        version: '',
        notes: '',
        rank: 0,
      },
    ];
  }
}

function rowOf(node: KubeObject, rootDepth: number, rank: number): TreeRow {
  const { path = '', role = '' } = (node.spec ?? {}) as ShownNodeSpec;
  const { session, lag, agents, rootContactAt, version = '', ...status } = (node.status ?? {}) as ShownNodeStatus;
  const isNew = rank === 2 && session?.state === 'Never';
  return {
    path,
    depth: depthOf(path) - rootDepth,
    role,
    session: session?.state ?? '',
    lag: lag?.entries === undefined ? '' : String(lag.entries),
    below: agents === undefined ? '' : String(agents),
    transport: session?.transport ?? '',
    version,
    // The parent of a disconnected child knows only that the child is absent. The child itself may know the reason.
    notes: [
      ...alarmsOf(status),
      ...(rank === 1 && session?.state === 'Disconnected' ? readyMessageOf(status) : []),
    ].join('; '),
    ...timeOf('receivedAtMs', rank === 1 ? rootContactAt : undefined),
    ...timeOf('detachedAtMs', rank === 2 && session?.state === 'Disconnected' ? session.since : undefined),
    ...(isNew ? { isNew } : {}),
    // If several replicas report a child, the report of the replica to which the child is attached counts.
    rank: isNew ? newRank : session?.state === 'Connected' ? rank + 0.5 : rank,
  };
}

function timeOf(name: 'receivedAtMs' | 'detachedAtMs', time: string | undefined): Partial<TreeRow> {
  return time === undefined ? {} : { [name]: Date.parse(time) };
}

export function earliestMs(...timesMs: readonly (number | undefined)[]): number | undefined {
  const present = timesMs.filter((one) => one !== undefined);
  return present.length > 0 ? Math.min(...present) : undefined;
}

/** The notes about alarms: held and lost entries with their numbers, and the conditions that are alarms. */
function alarmsOf({
  held,
  heldInMailbox,
  rolledBack = [],
  quarantined,
  refused,
  conditions = [],
}: ShownNodeStatus): string[] {
  const badEntries = (quarantined?.count ?? 0) + (refused?.count ?? 0);
  return [
    ...(held ? [`DeletionHeld: ${held.entries} entries`] : []),
    ...(heldInMailbox ? [`DeletionHeld: ${heldInMailbox.entries} entries in its mailbox`] : []),
    ...rolledBack.map((one) => `StoreRolledBack: ${one.source} had ${one.had}, ${one.seen} seen below`),
    ...(badEntries > 0 ? [`EntriesQuarantined: ${badEntries}`] : []),
    ...conditions
      .filter(({ type, status }) => status === 'True' && plainAlarms.includes(type))
      .map(({ type, message = '' }) => `${type}: ${firstWords(message)}`),
  ];
}

/** The first clause of a message. The Node object shows the whole message. */
function firstWords(message: string): string {
  const end = message.search(/[.:;](\s|$)/);
  return end < 0 ? message : message.slice(0, end);
}

function readyMessageOf({ conditions = [] }: ShownNodeStatus): string[] {
  return conditions.flatMap(({ type, message }) => (type === 'Ready' && message ? [message] : []));
}
