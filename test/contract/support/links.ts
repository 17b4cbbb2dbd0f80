/** The makers of links, for the suite that runs on each of them. */
import { systemClock } from '../../../core/runtime/clock.ts';
import { silentLogger } from '../../../core/runtime/logger.ts';
import { grpcDialer } from '../../../core/wire/grpc/grpc-dialer.ts';
import { listenGrpc } from '../../../core/wire/grpc/grpc-listener.ts';
import type { Accept, Dialer, PeerIdentity } from '../../../core/wire/link.ts';
import { memoryDialer } from '../../../core/wire/memory/memory-link.ts';
import { tcpProxy } from '../../support/tcp-proxy.ts';
import { TestTree } from '../../support/test-tree.ts';

export const parent: PeerIdentity = { path: 'eu', role: 'relay' };
export const child: PeerIdentity = { path: 'eu:kid', role: 'agent' };

/** One parent, and one child that dials it as often as it likes. Disposed of, nothing is told any more; twice does no harm. */
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
  { name: 'gRPC and TLS', open: openGrpc },
];

async function openMemory(accept: Accept): Promise<TestLine> {
  const network = { clock: systemClock, delayMs: 0, bufferBytes: 256 * 1024, isCut: () => false };
  const dialer = memoryDialer(network, child, parent, accept);
  return {
    dialer,
    cut: () => dialer.cut(),
    async [Symbol.asyncDispose]() {
      dialer.cut();
      // After everything that is under way.
      await new Promise<void>((resolve) => systemClock.after(0, resolve));
    },
  };
}

/** With a proxy in between, which cuts as a line does. */
async function openGrpc(accept: Accept): Promise<TestLine> {
  const tree = await TestTree.create();
  const credentials = await tree.credentials(parent.path, parent.role);
  const listener = await listenGrpc({ host: '127.0.0.1', port: 0, credentials, accept, log: silentLogger });
  const proxy = await tcpProxy(listener.address);
  const dialer = grpcDialer({
    address: proxy.address,
    parentPath: parent.path,
    credentials: await tree.credentials(child.path, child.role),
    clock: systemClock,
  });
  let disposed: Promise<void> | undefined;
  const dispose = async () => {
    await listener[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    // What the last connection told is told in the turn after.
    await new Promise(setImmediate);
  };
  return {
    dialer,
    cut: () => proxy.cut(),
    [Symbol.asyncDispose]() {
      disposed ??= dispose();
      return disposed;
    },
  };
}
