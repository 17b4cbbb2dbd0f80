import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { grpcDialer } from '../../../../../core/wire/grpc/grpc-dialer.ts';
import { TlsChannel } from '../../../../../core/wire/grpc/tls-channel.ts';
import { listenMesh } from '../../../../../core/wire/network/mesh-listener.ts';
import type { NodeCredentials } from '../../../../../core/wire/node-credentials.ts';
import { LinkLog } from '../../../../support/link-log.ts';
import { TestTree } from '../../../../support/test-tree.ts';
import { wayTo } from '../../../../support/ways.ts';

let first: NodeCredentials;
let second: NodeCredentials;
let stranger: NodeCredentials;
let child: NodeCredentials;
beforeAll(async () => {
  const tree = await TestTree.create();
  first = await tree.credentials('eu', 'relay');
  second = await tree.credentials('eu~1', 'relay');
  stranger = await tree.credentials('us', 'relay');
  child = await tree.credentials('eu:kid', 'agent');
});

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const way = () => wayTo({ address: '127.0.0.1:1', parentPath: 'eu', credentials: child, clock: systemClock });
const nextTurn = () => new Promise(setImmediate);

interface Server {
  readonly port: number;
  /** Connections whose handshake is done at both ends. */
  readonly connections: TLSSocket[];
}

/** Does the handshake, and sends nothing more. */
async function server({ caPem, certPem, keyPem }: NodeCredentials): Promise<Server> {
  const connections: TLSSocket[] = [];
  const server = createTlsServer({ ca: caPem, cert: certPem, key: keyPem, requestCert: true, ALPNProtocols: ['h2'] });
  server.on('secureConnection', (socket) => {
    connections.push(socket.on('error', () => {}).resume());
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections };
}

/** Makes a connection as grpc-js does; `done`: grpc-js also continues with it. */
async function connecting(channel: TlsChannel, { port }: Server) {
  const tcp = connect(port, '127.0.0.1');
  open.push(() => tcp.destroy());
  await once(tcp, 'connect');
  let goesOn: boolean | undefined;
  const done = channel
    ._createSecureConnector()
    .connect(tcp)
    .then(
      () => {
        goesOn = true;
      },
      (error: unknown) => {
        goesOn = false;
        tcp.destroy();
        return error;
      },
    );
  return { tcp, done, goesOn: () => goesOn };
}

describe('of several connections for one call', () => {
  it('the first one with a finished handshake becomes the channel, and the others end when the call is accepted', async () => {
    const channel = new TlsChannel(way());
    const [a, b] = [await server(first), await server(second)];
    await (await connecting(channel, a)).done;
    const other = await connecting(channel, b);
    await expect.poll(() => b.connections.length).toBe(1);
    await nextTurn();
    expect(other.goesOn()).toBe(undefined);
    expect(channel.settle().peer).toMatchObject({ path: 'eu', role: 'relay' });
    await Promise.all([other.done, once(b.connections[0]!, 'close')]);
    expect(other.goesOn()).toBe(false);
    const late = await connecting(channel, b);
    await late.done;
    expect(late.goesOn()).toBe(false);
    expect(a.connections[0]!.destroyed).toBe(false);
    expect(channel.settle().peer).toMatchObject({ path: 'eu', role: 'relay' });
    channel.close();
    await once(a.connections[0]!, 'close');
  });

  it('another one replaces the first if the first breaks before', async () => {
    const channel = new TlsChannel(way());
    const [a, b] = [await server(first), await server(second)];
    const { tcp, done } = await connecting(channel, a);
    await done;
    const others = [await connecting(channel, b), await connecting(channel, b)];
    await expect.poll(() => b.connections.length).toBe(2);
    tcp.destroy();
    await others[0]!.done;
    await nextTurn();
    expect(others.map(({ goesOn }) => goesOn())).toEqual([true, undefined]);
    expect(channel.settle().peer).toMatchObject({ path: 'eu', role: 'relay', replica: 1 });
    await others[1]!.done;
    channel.close();
  });

  it('a refused one does not matter once another one exists', async () => {
    const channel = new TlsChannel(way());
    const [a, b] = [await server(first), await server(stranger)];
    await (await connecting(channel, b)).done;
    expect(channel.refusal).toMatchObject({ code: 'Unauthorized' });
    await (await connecting(channel, a)).done;
    expect(channel.refusal).toBe(undefined);
    await (await connecting(channel, b)).done;
    expect(channel.refusal).toBe(undefined);
    channel.close();
  });

  it('all end with an abandoned dial', async () => {
    const channel = new TlsChannel(way());
    const [a, b] = [await server(first), await server(second)];
    await (await connecting(channel, a)).done;
    const other = await connecting(channel, b);
    await expect.poll(() => b.connections.length).toBe(1);
    const closes = [...a.connections, ...b.connections].map((socket) => once(socket, 'close'));
    channel.close();
    await Promise.all([...closes, other.done]);
    expect(other.goesOn()).toBe(false);
  });
});

/** Frames from the child pass at once, frames to the child when the test allows it. */
async function gate(target: string) {
  const [host, port] = target.split(':');
  let fromChild = 0;
  let held: (() => void)[] | undefined;
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: host!, port: Number(port), noDelay: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const satisfies [Socket, Socket][]) {
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
    }
    open.push(() => near.destroy());
    near.on('data', (bytes) => {
      fromChild++;
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (held) held.push(() => near.write(bytes));
      else near.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => server.close());
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** How often the child has sent something: its hello, and the end of its handshake. */
    fromChild: () => fromChild,
    hold() {
      held = [];
    },
    pass() {
      for (const write of held ?? []) write();
      held = undefined;
    },
  };
}

describe('a child that dials a name with two addresses', () => {
  /** grpc-js accepts a list of addresses in place of a name. */
  function dialBoth(addresses: readonly string[]) {
    const both = Object.defineProperty(way(), 'tcpAddress', { value: `ipv4:${addresses.join(',')}` });
    return grpcDialer(both).dial(new LinkLog(), 10_000);
  }

  async function parent(credentials: NodeCredentials, accepted: () => void): Promise<string> {
    const accept = () => {
      accepted();
      return new LinkLog();
    };
    const listener = await listenMesh({ host: '127.0.0.1', port: 0, credentials, log: silentLogger, accept });
    open.push(() => listener[Symbol.asyncDispose]());
    return listener.address;
  }

  it('names the connection that carries the session, though the other handshake finished last', async () => {
    let accepted = 0;
    const accepts = () => {
      accepted++;
      a.hold();
    };
    const a = await gate(await parent(first, accepts));
    const b = await gate(await parent(second, () => {}));
    a.hold();
    b.hold();
    const dialed = dialBoth([a.address, b.address]);
    await expect.poll(() => [a.fromChild(), b.fromChild()]).toEqual([1, 1]);
    a.pass();
    await expect.poll(() => accepted).toBe(1);
    b.pass();
    await expect.poll(() => b.fromChild()).toBeGreaterThan(1);
    await nextTurn();
    a.pass();
    const link = await dialed;
    expect(link.peer).toMatchObject({ path: 'eu', role: 'relay' });
    link.close('enough');
  });

  it('reaches the second address if the first one shakes hands and hangs up, as an ending process does', async () => {
    let accepted = 0;
    const ending = await server(first);
    const b = await gate(await parent(second, () => accepted++));
    const dialed = dialBoth([`127.0.0.1:${ending.port}`, b.address]);
    await expect.poll(() => b.fromChild()).toBeGreaterThan(1);
    await expect.poll(() => ending.connections.length).toBe(1);
    ending.connections[0]!.destroy();
    const link = await dialed;
    expect(accepted).toBe(1);
    expect(link.peer).toMatchObject({ path: 'eu', role: 'relay', replica: 1 });
    link.close('enough');
  });
});
