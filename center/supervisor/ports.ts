/** Ports of the nodes of a local tree: given by the topology, remembered from the last run, or free ones. */
import { createServer, type Server } from 'node:net';
import { BanyanError } from '../../core/runtime/errors.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import type { PlannedNode } from '../topology/plan.ts';
import { type DataDirectory, readJson } from './data-directory.ts';

export interface NodePortNumbers {
  readonly host: string;
  readonly api: number;
  /** 0 for agents: nobody dials them. */
  readonly mesh: number;
}

interface Wish {
  readonly path: string;
  readonly what: 'api' | 'mesh';
  readonly host: string;
  readonly fixed?: number | undefined;
  readonly remembered?: number | undefined;
}

/**
 * All are held open together while they are chosen, so that no two nodes get the same. A port is free again until its node listens: so each supervisor looks in
 * a window of its own, below the ports that the kernel gives to outgoing connections. `pid`: of the supervisor.
 */
export async function assignPorts(
  nodes: readonly PlannedNode[],
  data: DataDirectory,
  pid = process.pid,
): Promise<Map<string, NodePortNumbers>> {
  const free = freePortsFrom(windowsFrom + (pid % windows) * windowPorts);
  const before = readJson<Record<string, NodePortNumbers>>(data.ports) ?? {};
  const held: Server[] = [];
  const assigned = new Map<string, { host: string; api: number; mesh: number }>();
  try {
    for (const wish of nodes.flatMap((node) => wishes(node, before[node.id]))) {
      const server = await hold(wish, free);
      held.push(server);
      const address = server.address();
      const entry = assigned.get(wish.path) ?? { host: wish.host, api: 0, mesh: 0 };
      entry[wish.what] = typeof address === 'object' && address ? address.port : 0;
      assigned.set(wish.path, entry);
    }
  } finally {
    await Promise.all(held.map((server) => new Promise((done) => server.close(done))));
  }
  writeWhole(data.ports, JSON.stringify(Object.fromEntries(assigned), null, 2));
  return assigned;
}

function wishes(node: PlannedNode, before: NodePortNumbers | undefined): Wish[] {
  const host = node.listen?.host ?? '127.0.0.1';
  const api: Wish = { path: node.id, what: 'api', host, fixed: node.listen?.apiPort, remembered: before?.api };
  if (node.role === 'agent') return [api];
  return [api, { path: node.id, what: 'mesh', host, fixed: node.listen?.meshPort, remembered: before?.mesh }];
}

async function hold(wish: Wish, free: (host: string) => Promise<Server>): Promise<Server> {
  if (wish.fixed !== undefined) {
    try {
      return await listen(wish.host, wish.fixed);
    } catch (error) {
      const node = wish.path === '' ? 'the center' : wish.path;
      const field = wish.what === 'api' ? 'apiPort' : 'meshPort';
      const message = `port ${wish.fixed} on ${wish.host} (listen.${field} of ${node}) can't be used: ${(error as NodeJS.ErrnoException).code}; free it or choose another`;
      throw new BanyanError('BadRequest', message, {}, { cause: error });
    }
  }
  if (wish.remembered === undefined) return free(wish.host);
  // Another program may hold the remembered port now. A new port does no harm: configurations and kubeconfig are written at each start.
  return (await listenIfFree(wish.host, wish.remembered)) ?? free(wish.host);
}

/** Linux gives 32768 and above to outgoing connections. A tree of 40 relays has 80 ports; a larger one goes on into the next windows. */
const windowsFrom = 12_000;
const windowPorts = 80;
const windows = 250;

/** The next free port from this one on; any port after as many failures as a window has ports. */
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

/** Undefined: another program has the port, or this user may not have it. Throws what is wrong with the host. */
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
