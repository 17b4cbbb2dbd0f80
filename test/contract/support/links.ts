/** The makers of links, for the suite that runs on each of them. */
import type { PeerIdentity } from '../../../core/identity/peer-identity.ts';
import { systemClock } from '../../../core/runtime/clock.ts';
import { silentLogger } from '../../../core/runtime/logger.ts';
import { systemRandom } from '../../../core/runtime/random.ts';
import type { LinkOptions } from '../../../core/wire/dialer/link-options.ts';
import type { Way } from '../../../core/wire/dialer/way.ts';
import { grpcDialer } from '../../../core/wire/grpc/grpc-dialer.ts';
import type { Accept, Dialer } from '../../../core/wire/link.ts';
import { memoryDialer } from '../../../core/wire/memory/memory-link.ts';
import { listenMesh } from '../../../core/wire/network/mesh-listener.ts';
import { provingDialer } from '../../../core/wire/proof/child-proof.ts';
import { webSocketDialer } from '../../../core/wire/websocket/websocket-dialer.ts';
import { connectProxy } from '../../support/connect-proxy.ts';
import { tcpProxy } from '../../support/tcp-proxy.ts';
import { TestTree } from '../../support/test-tree.ts';
import { tlsTerminator } from '../../support/tls-terminator.ts';
import { wayTo } from '../../support/ways.ts';
import { helloDialer, withWelcome } from './hello-welcome.ts';

export const parent: PeerIdentity = { path: 'eu', role: 'relay' };
export const child: PeerIdentity = { path: 'eu:kid', role: 'agent' };

/** One parent, and one child that dials it as often as it likes. After disposal, no event is passed on; to dispose twice does no harm. */
export interface TestLine extends AsyncDisposable {
  readonly dialer: Dialer;
  /** Breaks every connection. */
  cut(): void;
}

export interface LinkMaker {
  readonly name: string;
  open(accept: Accept): Promise<TestLine>;
}

export const makers: readonly LinkMaker[] = [
  { name: 'memory', open: openMemory },
  { name: 'gRPC and TLS', open: (accept) => openTls(accept, grpcDialer) },
  { name: 'gRPC through a proxy', open: (accept) => openProxied(accept, grpcDialer) },
  { name: 'WebSocket and TLS', open: (accept) => openTls(accept, webSocketDialer) },
  { name: 'WebSocket through a proxy', open: (accept) => openProxied(accept, webSocketDialer) },
  { name: 'gRPC where TLS is terminated', open: (accept) => openTerminated(accept, grpcDialer) },
  { name: 'WebSocket where TLS is terminated', open: (accept) => openTerminated(accept, webSocketDialer) },
];

async function openMemory(accept: Accept): Promise<TestLine> {
  const network = { clock: systemClock, delayMs: 0, bufferBytes: 256 * 1024, isCut: () => false };
  const dialer = memoryDialer(network, child, parent, accept);
  return {
    dialer,
    cut: () => dialer.cut(),
    async [Symbol.asyncDispose]() {
      dialer.cut();
      // After everything that is in flight.
      await new Promise<void>((resolve) => systemClock.after(0, resolve));
    },
  };
}

type MakeDialer = (way: Way) => Dialer;

/** With a relay of bytes in between, which cuts like a line. */
async function openTls(accept: Accept, makeDialer: MakeDialer): Promise<TestLine> {
  const { tree, listener, dialerBy } = await listening(accept, makeDialer);
  const line = await tcpProxy(listener.address);
  return { ...(await dialerBy(tree, line.address, {})), cut: () => line.cut(), ...disposing(listener, line) };
}

async function openProxied(accept: Accept, makeDialer: MakeDialer): Promise<TestLine> {
  const { tree, listener, dialerBy } = await listening(accept, makeDialer);
  const proxy = await connectProxy();
  const dialed = await dialerBy(tree, listener.address, { proxy: proxy.url });
  return { ...dialed, cut: () => proxy.cut(), ...disposing(listener, proxy) };
}

/** The certificate that the child sees is of another authority; Hello and Welcome prove the parent. */
async function openTerminated(accept: Accept, makeDialer: MakeDialer): Promise<TestLine> {
  const [tree, others] = [await TestTree.create(), await TestTree.create()];
  const listener = await listenMesh({
    host: '127.0.0.1',
    port: 0,
    credentials: await tree.credentials(parent.path, parent.role),
    accept: withWelcome(accept),
    terminatedTls: true,
    log: silentLogger,
  });
  const balancer = await others.credentials('balancer', 'relay');
  const terminator = await tlsTerminator(listener.address, balancer);
  const way = wayTo({
    address: terminator.address,
    parentPath: parent.path,
    credentials: await tree.credentials(child.path, child.role),
    clock: systemClock,
    link: { terminatedTls: true },
    linkCaPem: balancer.caPem,
  });
  const dialer = helloDialer(provingDialer(makeDialer(way), way, systemRandom));
  return { dialer, cut: () => terminator.cut(), ...disposing(listener, terminator) };
}

async function listening(accept: Accept, makeDialer: MakeDialer) {
  const tree = await TestTree.create();
  const credentials = await tree.credentials(parent.path, parent.role);
  const listener = await listenMesh({ host: '127.0.0.1', port: 0, credentials, accept, log: silentLogger });
  const dialerBy = async (own: TestTree, address: string, link: Partial<LinkOptions>) => {
    const childCredentials = await own.credentials(child.path, child.role);
    const to = { address, parentPath: parent.path, credentials: childCredentials, clock: systemClock, link };
    return { dialer: makeDialer(wayTo(to)) };
  };
  return { tree, listener, dialerBy };
}

function disposing(...disposed: AsyncDisposable[]): AsyncDisposable {
  let done: Promise<void> | undefined;
  const dispose = async () => {
    for (const one of disposed) await one[Symbol.asyncDispose]();
    // The last events of the last connection come in the next turn.
    await new Promise(setImmediate);
  };
  return {
    [Symbol.asyncDispose]() {
      done ??= dispose();
      return done;
    },
  };
}
