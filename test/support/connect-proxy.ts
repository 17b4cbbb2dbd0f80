/** A CONNECT proxy on loopback, with or without TLS and a password. A test can cut its connections. */
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface ConnectProxy extends AsyncDisposable {
  /** The value for `link.proxy`, without name and password. */
  readonly url: string;
  /** host:port of each tunnel that a client has requested and the proxy has allowed. */
  readonly tunnels: string[];
  /** Destroys every connection. */
  cut(): void;
}

export interface ConnectProxyOptions {
  /** `user:password` */
  readonly login?: string;
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer };
}

export async function connectProxy({ login, tls }: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const sockets = new Set<Duplex>();
  const tunnels: string[] = [];
  const server = tls ? createSecureServer(tls) : createServer();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('connect', (request: IncomingMessage, near: Duplex) => {
    near.on('error', () => {});
    const expected = login === undefined ? undefined : `Basic ${Buffer.from(login).toString('base64')}`;
    if (expected !== undefined && request.headers['proxy-authorization'] !== expected) {
      near.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="test"\r\n\r\n');
      return;
    }
    const target = new URL(`http://${request.url}`);
    const far = connect({ host: target.hostname.replace(/^\[|\]$/g, ''), port: Number(target.port), noDelay: true });
    sockets.add(far);
    far.on('error', () => near.destroy());
    far.on('close', () => {
      sockets.delete(far);
      near.destroy();
    });
    near.on('close', () => far.destroy());
    far.once('connect', () => {
      tunnels.push(request.url!);
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      near.pipe(far).pipe(near);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tunnels,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
