/** `banyan tree`: the tree as the nodes themselves show it, each relay asked for what hangs below it. */
import type { KubeObject } from '../../core/object/meta.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { ApiClient } from './api-client.ts';
import { formatTable } from './table.ts';

interface NodeStatus {
  session?: { state?: string; since?: string };
  lag?: { entries?: number };
  agents?: number;
}

interface NodeSpec {
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
    rows.map((row) => [
      `${'  '.repeat(row.depth)}${row.path === '' ? 'center' : row.path.split(':').at(-1)}`,
      row.role,
      row.session,
      row.lag,
      row.below,
    ]),
  );
}

async function rowsOf(api: ApiClient, path: string, depth: number): Promise<TreeRow[]> {
  const context = `node/${path === '' ? 'center' : path}`;
  let nodes: KubeObject[];
  try {
    nodes = await api.list(context, '/apis/mesh.banyan.io/v1alpha1/nodes');
  } catch (error) {
    return [{ path, depth, role: 'Relay', session: `unreachable: ${describeError(error)}`, lag: '', below: '' }];
  }
  const specOf = (node: KubeObject) => (node.spec ?? {}) as NodeSpec;
  const own = nodes.find((node) => (specOf(node).path ?? '') === path);
  const agents = nodes.filter((node) => specOf(node).role === 'Agent' && parentOf(specOf(node).path ?? '') === path);
  return [...(own ? [rowOf(own, depth)] : []), ...agents.map((agent) => rowOf(agent, depth + 1))];
}

function rowOf(node: KubeObject, depth: number): TreeRow {
  const { path = '', role = '' } = (node.spec ?? {}) as NodeSpec;
  const { session, lag, agents } = (node.status ?? {}) as NodeStatus;
  return {
    path,
    depth,
    role,
    session: session?.state ?? '',
    lag: lag?.entries === undefined ? '' : String(lag.entries),
    below: agents === undefined ? '' : String(agents),
  };
}

function parentOf(path: string): string {
  return path.includes(':') ? path.slice(0, path.lastIndexOf(':')) : '';
}

function depthOf(path: string): number {
  return path === '' ? 0 : path.split(':').length;
}
