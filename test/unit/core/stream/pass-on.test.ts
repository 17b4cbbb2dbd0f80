import { once } from 'node:events';
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { apiKind, askOver, httpEndpoint } from '../../../../core/stream/http.ts';
import { type Ask, answerOf, type PassedBytes, passOn, passUpgrade } from '../../../../core/stream/pass-on.ts';
import { StreamRouter } from '../../../../core/stream/router.ts';
import { StreamCounts } from '../../../../core/stream/stream-counts.ts';

const user = { name: 'jo', groups: ['system:masters'] };
const opened: Server[] = [];

async function listening(server: Server): Promise<number> {
  opened.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

afterEach(() => {
  for (const server of opened.splice(0)) {
    server.closeAllConnections?.();
    server.close();
  }
});

/** A server whose requests pass through a stream inside a node to another server, which behaves as given. */
async function through(act: (request: IncomingMessage, response: ServerResponse) => void, refusal?: string) {
  const counts = new StreamCounts();
  const authorize = () => refusal;
  const none = { child: () => ({ known: false }), parent: () => undefined } as const;
  const router = new StreamRouter({ path: 'eu', clock: systemClock, observer: counts, authorize, ...none });
  const far = createServer(act);
  const users: string[] = [];
  const passed: [number, PassedBytes][] = [];
  router.register(
    apiKind,
    httpEndpoint('eu', (connection, { name }) => {
      users.push(name);
      far.emit('connection', connection);
    }),
  );
  const ask: Ask = askOver(router, 'eu', { path: 'eu', kind: apiKind, user });
  const on = (to: ServerResponse) => ({
    ask,
    failed: (error: unknown) => to.writeHead(error instanceof BanyanError ? 403 : 500).end(String(error)),
  });
  const near = createServer((from, to) => void passOn(from, to, { target: from.url!, ...on(to) }));
  near.on('upgrade', (from, socket, head) => {
    const failed = () => socket.end('HTTP/1.1 500 no\r\n\r\n');
    void passUpgrade(from, socket, head, {
      target: from.url!,
      ask,
      failed,
      answers: (...answer) => void passed.push(answer),
    });
  });
  return { port: await listening(near), far, users, counts, passed };
}

it('a request arrives unchanged, without the headers of its connection, and so does the answer', async () => {
  const { port, users, counts } = await through(async (from, to) => {
    const body = await buffer(from);
    to.writeHead(201, { 'x-kind': 'answer', 'keep-alive': 'timeout=7' });
    to.end(JSON.stringify({ method: from.method, url: from.url, headers: from.headers, bytes: body.length }));
  });
  const sent = await fetch(`http://127.0.0.1:${port}/api/v1/pods?a=%2F&b=c%20d`, {
    method: 'POST',
    body: Buffer.alloc(3_000_000, 7),
    headers: { 'x-asked': 'yes', 'content-type': 'application/json', 'proxy-authorization': 'Basic x' },
  });
  expect([sent.status, sent.headers.get('x-kind'), sent.headers.get('keep-alive')]).toEqual([
    201,
    'answer',
    'timeout=5',
  ]);
  const seen = (await sent.json()) as { headers: Record<string, string> };
  expect(seen).toMatchObject({ method: 'POST', url: '/api/v1/pods?a=%2F&b=c%20d', bytes: 3_000_000 });
  expect(seen.headers).toMatchObject({ 'x-asked': 'yes', 'content-type': 'application/json', host: 'banyan' });
  expect(seen.headers).not.toHaveProperty('proxy-authorization');
  expect(users).toEqual(['jo']);
  await expect.poll(() => counts.open).toBe(0);
  expect([...counts.closedBy.keys()]).toEqual(['']);
});

it('an answer is passed on piece by piece from its head on, and a client that hangs up ends it at the other end too', async () => {
  let gone: () => void = () => {};
  const over = new Promise<void>((resolve) => {
    gone = resolve;
  });
  let write: (piece: string) => void = () => {};
  const { port, counts } = await through((_, to) => {
    to.flushHeaders();
    write = (piece) => to.write(piece);
    to.on('close', gone);
  });
  const answer = await new Promise<IncomingMessage>((resolve) =>
    request({ port, path: '/watch' }, resolve)
      .on('error', () => {})
      .end(),
  );
  write('first');
  const [piece] = (await answer[Symbol.asyncIterator]()
    .next()
    .then(({ value }) => [String(value)])) as [string];
  expect(piece).toBe('first');
  answer.destroy();
  await over;
  await expect.poll(() => counts.open).toBe(0);
});

it('a request that is answered before it has fully arrived leaves nothing open', async () => {
  const { port, counts } = await through((_, to) => void to.writeHead(413).end('too much'));
  const sent = request({ port, method: 'POST', path: '/' });
  sent.on('error', () => {}).write(Buffer.alloc(3_000_000));
  const answer = await new Promise<IncomingMessage>((resolve) => sent.on('response', resolve));
  expect([answer.statusCode, await text(answer)]).toEqual([413, 'too much']);
  sent.destroy();
  await expect.poll(() => counts.open).toBe(0);
});

it('a connection that becomes another protocol carries bytes both ways', async () => {
  const { port, far, counts, passed } = await through(() => {});
  far.on('upgrade', (from: IncomingMessage, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${from.headers.upgrade}\r\n\r\nhello `,
    );
    socket.pipe(socket);
  });
  const sent = request({
    port,
    path: '/exec',
    method: 'POST',
    headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'audit-id': 'one' },
  });
  sent.end();
  const [answer, socket, head] = await new Promise<[IncomingMessage, NodeJS.ReadWriteStream, Buffer]>((resolve) =>
    sent.on('upgrade', (...all) => resolve(all)),
  );
  expect([answer.statusCode, answer.headers.upgrade]).toEqual([101, 'SPDY/3.1']);
  socket.end('and back');
  expect(head.toString() + (await text(socket))).toBe('hello and back');
  await expect.poll(() => counts.open).toBe(0);
  expect(answer.headers['audit-id']).toBe('one');
  expect(passed).toEqual([[101, { received: 'and back'.length, sent: 'hello and back'.length }]]);
});

it('the last bytes arrive even if the server hangs up before the client does', async () => {
  const { port, far } = await through(() => {});
  const last = Buffer.alloc(200_000, 'x');
  far.on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    socket.end(last, () => setImmediate(() => socket.destroy()));
  });
  const sent = request({ port, headers: { connection: 'Upgrade', upgrade: 'x' } });
  sent.end();
  const [socket, head] = await new Promise<[NodeJS.ReadWriteStream, Buffer]>((resolve) =>
    sent.on('upgrade', (_, ...rest) => resolve(rest)),
  );
  expect(head.length + (await buffer(socket)).length).toBe(last.length);
});

it('a server that keeps its protocol gets its answer through', async () => {
  const { port } = await through((_, to) => void to.writeHead(403, { 'x-why': 'rights' }).end('no exec here'));
  const headers = { connection: 'Upgrade', upgrade: 'websocket' };
  const answer = await new Promise<IncomingMessage>((resolve) => request({ port, headers }, resolve).end());
  expect([answer.statusCode, answer.headers['x-why'], await text(answer)]).toEqual([403, 'rights', 'no exec here']);
});

it('a refused change of the protocol is over at the server too, and leaves nothing open', async () => {
  const { port, far, counts } = await through(() => {});
  const isOver = new Promise<number>((resolve) => {
    far.on('upgrade', (from, socket) => {
      const answer = answerOf(from, socket)!;
      answer.once('close', () => resolve(answer.statusCode));
      answer.writeHead(404).end('no exec here');
    });
  });
  const headers = { connection: 'Upgrade', upgrade: 'websocket' };
  const read = await new Promise<IncomingMessage>((resolve) => request({ port, headers }, resolve).end());
  expect([read.statusCode, await text(read), await isOver]).toEqual([404, 'no exec here', 404]);
  await expect.poll(() => counts.open).toBe(0);
});

it.each([
  { of: 'a request', headers: {} },
  { of: 'an upgrade', headers: { connection: 'Upgrade', upgrade: 'x' } },
])('$of whose client hangs up before it is passed on is not left open', async ({ headers }) => {
  let begun: ClientRequest | undefined;
  let asked: (ask: () => void) => void = () => {};
  const isAsked = new Promise<() => void>((resolve) => {
    asked = resolve;
  });
  const far = await listening(createServer());
  const ask: Ask = async (passed) => {
    await new Promise<void>((resolve) => asked(resolve));
    begun = request({ port: far, method: passed.method, path: passed.target, headers: passed.headers });
    return begun;
  };
  const pass = { target: '/', ask, failed: () => {} };
  const near = createServer((from, to) => void passOn(from, to, pass));
  near.on('upgrade', (from, socket, head) => void passUpgrade(from, socket, head, pass));
  let client: Socket | undefined;
  near.on('connection', (socket) => {
    client = socket;
  });
  const sent = request({ port: await listening(near), headers }).on('error', () => {});
  sent.end();
  const goOn = await isAsked;
  client!.destroy();
  await once(client!, 'close');
  goOn();
  await expect.poll(() => begun?.destroyed).toBe(true);
});

it('an error that resets the stream before its start is the reported reason', async () => {
  const { port } = await through(() => {}, 'jo may not');
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect(await answer.text()).toMatch(/eu: jo may not \(Forbidden\)/);
});

describe.each(['HTTP/1.1', 'HTTP/2'])('over %s', (version) => {
  it.each([
    ['has the status 0', '000 X'],
    ['has the status 600', '600 X'],
    ['has the status 101', '101 X'],
    ['changes the protocol', '101 X\r\nConnection: Upgrade\r\nUpgrade: x'],
  ])('an answer that is invalid, since it %s, is reported as a failure', async (why, head) => {
    const far = createTcpServer((socket) => {
      socket.on('error', () => {}).once('data', () => void socket.end(`HTTP/1.1 ${head}\r\n\r\n`));
    });
    await new Promise<void>((resolve) => far.listen(0, '127.0.0.1', resolve));
    const { port: farPort } = far.address() as AddressInfo;
    const ask: Ask = ({ method, target, headers }) => request({ port: farPort, method, path: target, headers });
    const act = (from: IncomingMessage, to: ServerResponse) =>
      void passOn(from, to, { target: '/', ask, failed: (error) => void to.writeHead(503).end(String(error)) });
    const near = version === 'HTTP/2' ? createHttp2Server(act as never) : createServer(act);
    const port = await listening(near as Server);
    const answer =
      version === 'HTTP/2' ? await overHttp2(port) : await (await fetch(`http://127.0.0.1:${port}/`)).text();
    expect(answer).toContain(`the server's answer can't be passed on: it ${why}`);
    far.close();
  });
});

async function overHttp2(port: number): Promise<string> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const answer = await text(session.request({ ':path': '/' }));
  session.destroy();
  return answer;
}

describe('an upgrade that gets an ordinary answer', () => {
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n';
  const asked = `${head}\r\n`;
  /** The present part of a body. */
  const begun = `${head}Content-Length: 1000\r\n\r\nabc`;

  /** The server's end of a connection with an upgrade request, and the client's end. */
  async function upgrading(
    request: string,
    act: (answer: ServerResponse) => void,
  ): Promise<[near: Duplex, client: Socket]> {
    const server = createServer();
    const near = new Promise<Duplex>((resolve) => {
      server.on('upgrade', (from, socket) => {
        act(answerOf(from, socket)!);
        resolve(socket);
      });
    });
    const client = connect({ port: await listening(server), allowHalfOpen: true });
    client.on('error', () => {}).write(request);
    return [await near, client];
  }

  it.each([asked, begun])('is over when its connection breaks, and at no other event: %j', async (head) => {
    const [near] = await upgrading(head, () => {});
    near.destroy(new Error('read ECONNRESET'));
    // Not `once`, which handles the error itself.
    await new Promise<void>((resolve) => near.on('close', resolve));
  });

  it('is notified when there is room for more of the answer', async () => {
    let drained: Promise<unknown> | undefined;
    const [, client] = await upgrading(asked, (answer) => {
      drained = once(answer, 'drain');
      expect(answer.write(Buffer.alloc(10_000_000))).toBe(false);
    });
    client.resume();
    await drained;
    client.destroy();
  });

  it('ends a connection on which the previous request is not answered yet', async () => {
    const server = createServer();
    const near = new Promise<Duplex>((resolve) => {
      server.on('upgrade', (from, socket) => {
        expect(answerOf(from, socket)).toBeUndefined();
        resolve(socket);
      });
    });
    const client = connect(await listening(server)).on('error', () => {});
    client.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${asked}`);
    expect((await near).destroyed).toBe(true);
    await once(client.resume(), 'close');
  });

  it.each([asked, begun])('is over once it is answered, even if the client leaves its half open: %j', async (head) => {
    const [near, client] = await upgrading(head, (answer) => void answer.writeHead(404).end('none'));
    await once(near, 'close');
    expect(await text(client)).toMatch(/^HTTP\/1.1 404 .*none/s);
    client.destroy();
  });
});
