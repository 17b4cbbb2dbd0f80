/** `banyan tree`: the tree as the nodes themselves show it, each relay asked for what hangs below it. */
import type { KubeObject } from '../../core/object/meta.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { ApiClient } from './api-client.ts';
import { formatTable } from './table.ts';

interface NodeStatus {
  role?: string;
  session?: string;
  lag?: number;
  destinations?: number;
  message?: string;
}

export interface TreeRow {
  readonly path: string;
  readonly depth: number;
  readonly role: string;
  readonly session: string;
  readonly lag: string;
  readonly below: string;
}

/** Rows from `root` downwards: the relays whose API the kubeconfig knows are asked, agents come from their parent. */
export async function treeRows(api: ApiClient, root: string): Promise<TreeRow[]> {
  const relays = api
    .contexts()
    .filter((name) => name.startsWith('node/'))
    .map((name) => name.slice('node/'.length))
    .map((name) => (name === 'center' ? '' : name))
    .filter((path) => root === '' || path === root || path.startsWith(`${root}:`))
    .sort();
  const rows = await Promise.all(relays.map((path) => rowsOf(api, path, depthOf(path) - depthOf(root))));
  return rows.flat().sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function formatTree(rows: readonly TreeRow[]): string {
  return formatTable(
    ['NODE', 'ROLE', 'SESSION', 'LAG', 'DESTINATIONS'],
    rows.map((row) => [`${'  '.repeat(row.depth)}${row.path === '' ? 'center' : row.path.split(':').at(-1)}`, row.role, row.session, row.lag, row.below]),
  );
}

async function rowsOf(api: ApiClient, path: string, depth: number): Promise<TreeRow[]> {
  const context = `node/${path === '' ? 'center' : path}`;
  let nodes: KubeObject[];
  try {
    nodes = await api.list(context, '/apis/mesh.banyan.io/v1alpha1/nodes');
  } catch (error) {
    return [{ path, depth, role: 'relay', session: `unreachable: ${describeError(error)}`, lag: '', below: '' }];
  }
  const statuses = new Map(nodes.map((node) => [(node.spec as { path?: string } | undefined)?.path ?? '', (node.status ?? {}) as NodeStatus]));
  const own = statuses.get(path) ?? {};
  const rows: TreeRow[] = [rowOf(path, depth, own)];
  for (const [child, status] of statuses) {
    if (status.role === 'agent' && child.lastIndexOf(':') === (path === '' ? -1 : path.length)) rows.push(rowOf(child, depth + 1, status));
  }
  return rows;
}

function rowOf(path: string, depth: number, status: NodeStatus): TreeRow {
  return {
    path,
    depth,
    role: status.role ?? '',
    session: status.session ?? '',
    lag: status.lag === undefined ? '' : String(status.lag),
    below: status.destinations === undefined ? '' : String(status.destinations),
  };
}

function depthOf(path: string): number {
  return path === '' ? 0 : path.split(':').length;
}
