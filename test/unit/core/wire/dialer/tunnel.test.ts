import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, VirtualClock } from '../../../../../core/runtime/clock.ts';
import { parseProxy } from '../../../../../core/wire/dialer/proxy-url.ts';
import { openTunnel, tunnelWithinMs } from '../../../../../core/wire/dialer/tunnel.ts';
import type { NodeCredentials } from '../../../../../core/wire/node-credentials.ts';
import { type ConnectProxy, connectProxy } from '../../../../support/connect-proxy.ts';
import { TestTree } from '../../../../support/test-tree.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

let company: NodeCredentials;
beforeAll(async () => {
  company = await (await TestTree.create('company')).credentials('proxy', 'relay');
});

/** The port of a server that handles each connection with this function. */
async function serving(handle: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function tunnel(proxyUrl: string, port: number, options: { caPem?: Buffer; clock?: VirtualClock } = {}) {
  const proxy = parseProxy(proxyUrl);
  const tcp = connect(proxy.port, proxy.host);
  open.push(() => tcp.destroy());
  await once(tcp, 'connect');
  const { caPem, clock = systemClock } = options;
  return openTunnel(tcp, { proxy, target: { host: '127.0.0.1', port }, clock, ...(caPem ? { caPem } : {}) });
}

async function refusal(opened: Promise<unknown>): Promise<unknown> {
  return opened.then(
    () => 'it was opened',
    (error: unknown) => error,
  );
}

async function proxyWith(options: Parameters<typeof connectProxy>[0]): Promise<ConnectProxy> {
  const proxy = await connectProxy(options);
  open.push(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

const echo = () => serving((socket) => socket.pipe(socket));

async function echoes(socket: Socket): Promise<void> {
  socket.write('words');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toBe('words');
}

describe('a tunnel through a proxy', () => {
  it('carries bytes unchanged', async () => {
    const proxy = await proxyWith({});
    const port = await echo();
    await echoes(await tunnel(proxy.url, port));
    expect(proxy.tunnels).toEqual([`127.0.0.1:${port}`]);
  });

  it('sends name and password if the address has them', async () => {
    const proxy = await proxyWith({ login: 'store 17:p@ss:word' });
    const port = await echo();
    const url = proxy.url.replace('://', '://store%2017:p%40ss%3Aword@');
    await echoes(await tunnel(url, port));
    expect(await refusal(tunnel(proxy.url, port))).toMatchObject({
      code: 'Unauthorized',
      message: expect.stringMatching(/^the proxy http:\/\/127\.0\.0\.1:\d+ wants authentication .*offers Basic/),
    });
  });

  it('begins with TLS if the proxy requires it, with an authority of its own', async () => {
    const proxy = await proxyWith({ tls: { cert: company.certPem, key: company.keyPem } });
    const port = await echo();
    await echoes(await tunnel(proxy.url, port, { caPem: company.caPem }));
    expect(await refusal(tunnel(proxy.url, port))).toMatchObject({
      code: 'Unauthorized',
      message: expect.stringContaining('name its authority in link.ca'),
    });
  });

  it('is refused by a proxy without TLS if its address is https', async () => {
    const port = await serving((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    expect(await refusal(tunnel(`https://127.0.0.1:${port}`, 1))).toMatchObject({
      code: 'Unavailable',
      message: expect.stringContaining('does it speak TLS?'),
    });
  });

  it.each([
    [
      'says nothing and hangs up',
      (socket: Socket) => socket.end(),
      'Unavailable',
      'closed the connection without an answer',
    ],
    ['answers with a page', (socket: Socket) => socket.write('<html>hello</html>'), 'Protocol', '"<html>hello</html>"'],
    [
      'sends a header without an end',
      (socket: Socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(4000)}`),
      'Protocol',
      'more than 16384 bytes',
    ],
    ['breaks the connection', (socket: Socket) => socket.resetAndDestroy(), 'Unavailable', ''],
  ])('is refused by a proxy that %s', async (_, handle, code, message) => {
    const port = await serving((socket) => socket.once('data', () => handle(socket)));
    const error = await refusal(tunnel(`http://127.0.0.1:${port}`, 1));
    expect(error).toMatchObject({ code, message: expect.stringContaining(`the proxy http://127.0.0.1:${port}`) });
    expect((error as Error).message).toContain(message);
  });

  it.each(['http', 'https'])('is given up when an %s proxy is silent', async (scheme) => {
    const clock = new VirtualClock();
    let asked = () => {};
    const received = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const port = await serving((socket) => socket.once('data', () => asked()));
    const refused = refusal(tunnel(`${scheme}://127.0.0.1:${port}`, 1, { clock }));
    await received;
    clock.advance(tunnelWithinMs);
    expect(await refused).toMatchObject({
      code: 'Unavailable',
      message: `the proxy ${scheme}://127.0.0.1:${port} did not answer within 8 s`,
    });
  });
});
