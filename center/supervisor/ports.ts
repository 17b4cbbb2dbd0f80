/** Ports for the nodes of a local tree: ports from the topology, ports from the last run, or free ports. */
import { createServer, type Server } from 'node:net';
import { BanyanError } from '../../core/runtime/errors.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import type { PlannedNode } from '../topology/plan.ts';
import { type DataDirectory, readJson } from './data-directory.ts';

export interface NodePortNumbers {
  readonly host: string;
  readonly api: number;
  /** 0 for an agent, because nobody dials an agent. */
  readonly mesh: number;
}

interface PortRequest {
  readonly path: string;
  readonly what: 'api' | 'mesh';
  readonly host: string;
  readonly fixed?: number | undefined;
  readonly remembered?: number | undefined;
}

/**
 * Chooses the ports, and holds all of them open until the last one is chosen. So no two nodes get the same port. After that, nobody holds a port until its
 * node listens. So each supervisor searches in a window of its own, below the ports that the kernel uses for outgoing connections. `pid`: the process of the
 * supervisor. `running`: ids of nodes that run now and keep their ports.
 */
export async function assignPorts(
  nodes: readonly PlannedNode[],
  data: DataDirectory,
  { pid = process.pid, running = new Set() }: { readonly pid?: number; readonly running?: ReadonlySet<string> } = {},
): Promise<Map<string, NodePortNumbers>> {
  const free = freePortsFrom(windowsFrom + (pid % windows) * windowPorts);
  const before = readJson<Record<string, NodePortNumbers>>(data.ports) ?? {};
  const servers: Server[] = [];
  const assigned = new Map<string, { host: string; api: number; mesh: number }>();
  const kept = nodes.filter((node) => running.has(node.id) && keeps(node, before[node.id]));
  for (const { id } of kept) assigned.set(id, before[id]!);
  const others = nodes.filter(({ id }) => !assigned.has(id));
  try {
    for (const request of others.flatMap((node) => portRequests(node, before[node.id]))) {
      const server = await openPort(request, free);
      servers.push(server);
      const address = server.address();
      const entry = assigned.get(request.path) ?? { host: request.host, api: 0, mesh: 0 };
      entry[request.what] = typeof address === 'object' && address ? address.port : 0;
      assigned.set(request.path, entry);
    }
  } finally {
    await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  }
  writeWhole(data.ports, JSON.stringify(Object.fromEntries(assigned), null, 2));
  return assigned;
}

/** Whether the topology allows the ports that the node has. */
function keeps({ listen }: PlannedNode, before: NodePortNumbers | undefined): boolean {
  if (!before || before.host !== (listen?.host ?? defaultHost)) return false;
  return (listen?.apiPort ?? before.api) === before.api && (listen?.meshPort ?? before.mesh) === before.mesh;
}

const defaultHost = '127.0.0.1';

function portRequests(node: PlannedNode, before: NodePortNumbers | undefined): PortRequest[] {
  const host = node.listen?.host ?? defaultHost;
  const api: PortRequest = { path: node.id, what: 'api', host, fixed: node.listen?.apiPort, remembered: before?.api };
  if (node.role === 'agent') return [api];
  return [api, { path: node.id, what: 'mesh', host, fixed: node.listen?.meshPort, remembered: before?.mesh }];
}

async function openPort(request: PortRequest, free: (host: string) => Promise<Server>): Promise<Server> {
  if (request.fixed !== undefined) {
    try {
      return await listen(request.host, request.fixed);
    } catch (error) {
      const node = request.path === '' ? 'the center' : request.path;
      const field = request.what === 'api' ? 'apiPort' : 'meshPort';
      const message = `port ${request.fixed} on ${request.host} (listen.${field} of ${node}) can't be used: ${(error as NodeJS.ErrnoException).code}; free it or choose another`;
      throw new BanyanError('BadRequest', message, {}, { cause: error });
    }
  }
  if (request.remembered === undefined) return free(request.host);
  // Another program may use the port of the last run now. A new port does no harm: configurations and the kubeconfig are written at each start.
  return (await listenIfFree(request.host, request.remembered)) ?? free(request.host);
}

/**
 * The windows end below 32768, because Linux uses higher ports for outgoing connections. A tree of 40 relays has 80 ports; a larger tree continues into the
 * next windows.
 */
const windowsFrom = 12_000;
const windowPorts = 80;
const windows = 250;

/** The returned function opens the next free port from `first` on. After as many failures as a window has ports, it opens any free port. */
function freePortsFrom(first: number): (host: string) => Promise<Server> {
  let next = first;
  return async (host) => {
    for (let failed = 0; failed < windowPorts; failed++) {
      const server = await listenIfFree(host, next++);
      if (server) return server;
    }
    return listen(host, 0);
  };
}

/** Opens the port. Undefined: another program has the port, or this user is not allowed to use it. Throws if the host is wrong. */
async function listenIfFree(host: string, port: number): Promise<Server | undefined> {
  try {
    return await listen(host, port);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' || code === 'EACCES') return undefined;
    throw error;
  }
}

function listen(host: string, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => resolve(server));
  });
}
