/** A TCP proxy on loopback. A test can cut the line between two nodes without a notice to either node. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy extends AsyncDisposable {
  /** host:port */
  readonly address: string;
  /** Destroys every connection. */
  cut(): void;
}

/** `target`: host:port. */
export async function tcpProxy(target: string): Promise<TcpProxy> {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host: host!, port: Number(port) });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay();
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
