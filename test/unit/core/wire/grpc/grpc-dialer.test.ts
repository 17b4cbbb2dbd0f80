import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { encodeFrame, maxFrameBytes } from '../../../../../core/wire/codec/frames.ts';
import { grpcDialer } from '../../../../../core/wire/grpc/grpc-dialer.ts';
import type { Accept } from '../../../../../core/wire/link.ts';
import { listenMesh } from '../../../../../core/wire/network/mesh-listener.ts';
import type { NodeCredentials } from '../../../../../core/wire/node-credentials.ts';
import { beat, LinkLog } from '../../../../support/link-log.ts';
import { SessionPair } from '../../../../support/session-pair.ts';
import { TestTree } from '../../../../support/test-tree.ts';
import { wayTo } from '../../../../support/ways.ts';

const dialWithinMs = 10_000;

let tree: TestTree;
let relay: NodeCredentials;
let child: NodeCredentials;
beforeAll(async () => {
  tree = await TestTree.create();
  relay = await tree.credentials('eu', 'relay');
  child = await tree.credentials('eu:kid', 'agent');
});

describe('a dialer', () => {
  const open: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of open.splice(0)) await close();
  });

  async function parent(credentials: NodeCredentials, accept: Accept = () => new LinkLog()): Promise<string> {
    const listener = await listenMesh({ host: '127.0.0.1', port: 0, credentials, accept, log: silentLogger });
    open.push(() => listener[Symbol.asyncDispose]());
    return listener.address;
  }

  /** A server that is no listener of Banyan. */
  async function listening(server: Server | Http2SecureServer): Promise<string> {
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const tlsOf = ({ caPem, certPem, keyPem }: NodeCredentials) => ({ ca: caPem, cert: certPem, key: keyPem });

  function dial(
    address: string,
    options: { parentPath?: string; credentials?: NodeCredentials } = {},
    log = new LinkLog(),
  ) {
    const { parentPath = 'eu', credentials = child } = options;
    return grpcDialer(wayTo({ address, parentPath, credentials, clock: systemClock })).dial(log, dialWithinMs);
  }

  async function refusal(dialed: Promise<unknown>): Promise<{ code: string; message: string }> {
    const error = await dialed.then(
      () => new Error('it was accepted'),
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(BanyanError);
    const { code, message } = error as BanyanError;
    return { code, message };
  }

  // ------------------------------------------------------------------------------------------------ who the parent is

  it.each([
    ['eu:paris', 'relay', 'eu', 'the relay "eu:paris", not the relay "eu"'],
    ['', 'center', 'eu', 'the center "", not the relay "eu"'],
    ['eu', 'relay', '', 'the relay "eu", not the center'],
    ['eu', 'agent', 'eu', 'the agent "eu", not the relay "eu"'],
  ] as const)('refuses the node "%s" (%s) in place of "%s"', async (path, role, parentPath, reason) => {
    const address = await parent(await tree.credentials(path, role));
    expect(await refusal(dial(address, { parentPath }))).toEqual({
      code: 'Unauthorized',
      message: `${address} is ${reason}: check the parent's address and path in the configuration`,
    });
  });

  it('refuses a parent of another tree, with a message', async () => {
    const address = await parent(await (await TestTree.create('other')).credentials('eu', 'relay'));
    expect(await refusal(dial(address))).toEqual({
      code: 'Unauthorized',
      message: expect.stringMatching(
        /^the parent's certificate is not accepted: the certificate spiffe:\/\/other\/node\/relay\/eu was not signed by/,
      ),
    });
  });

  it('refuses a parent whose certificate has expired, with the date', async () => {
    const expired = await tree.credentials('eu', 'relay', new VirtualClock(Date.now() - 400 * 86_400_000));
    const { code, message } = await refusal(dial(await parent(expired)));
    expect(code).toBe('Unauthorized');
    expect(message).toMatch(
      /is not accepted: the certificate spiffe:\/\/test\/node\/relay\/eu expired on .* GMT: issue a/,
    );
  });

  it('finds the parent under any address: only the identity in the certificate counts', async () => {
    const address = (await parent(relay)).replace('127.0.0.1', 'localhost');
    const link = await dial(address);
    expect(link.peer).toMatchObject({ path: 'eu', role: 'relay' });
    link.close('enough');
  });

  // ------------------------------------------------------------------------------------------------ who the child is

  it('is refused with a message by a parent of another tree', async () => {
    const other = await TestTree.create('other');
    const address = await parent(await other.credentials('eu', 'relay'));
    const stranger = { ...child, caPem: Buffer.from(other.authority.certPem) };
    expect(await refusal(dial(address, { credentials: stranger }))).toEqual({
      code: 'Unauthorized',
      message: expect.stringMatching(`^${address}: the certificate spiffe://test/node/agent/eu/kid was not signed by`),
    });
  });

  it.each([
    ['us:kid', 'agent'],
    ['eu:kid:deeper', 'agent'],
    ['eu', 'relay'],
    ['', 'center'],
  ] as const)(
    'is refused with a message if its certificate is for "%s" (%s), which is no child of "eu"',
    async (path, role) => {
      const { sessions } = new SessionPair().parent;
      const address = await parent(relay, (link) => sessions.accept(link));
      expect(await refusal(dial(address, { credentials: await tree.credentials(path, role) }))).toEqual({
        code: 'Forbidden',
        message: `${address}: the certificate is for ${role} "${path}", which is no child of "eu"`,
      });
    },
  );

  it('cannot be made with a key that does not belong to its certificate', async () => {
    const credentials = { ...child, keyPem: relay.keyPem };
    expect(() =>
      grpcDialer(wayTo({ address: '127.0.0.1:1', parentPath: 'eu', credentials, clock: systemClock })),
    ).toThrow('key values mismatch');
  });

  // ---------------------------------------------------------------------------------------------- what is no parent

  it('fails with Unavailable and the address when nobody listens', async () => {
    const server = createServer();
    const address = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await refusal(dial(address))).toEqual({
      code: 'Unavailable',
      message: expect.stringMatching(`^${address}: .*ECONNREFUSED`),
    });
  });

  it('gives up and hangs up when the peer accepts the connection and sends nothing in time', async () => {
    const clock = new VirtualClock();
    const server = createServer();
    const address = await listening(server);
    const taken = once(server, 'connection');
    const dialer = grpcDialer(wayTo({ address, parentPath: 'eu', credentials: child, clock }));
    const refused = refusal(dialer.dial(new LinkLog(), 4_999.9961295));
    const [socket] = (await taken) as [Socket];
    socket.on('error', () => {}).resume();
    await once(socket, 'data');
    const hungUp = once(socket, 'close');
    clock.advance(5_000);
    expect(await refused).toEqual({ code: 'Unavailable', message: `${address}: no answer within 5 s` });
    await hungUp;
  });

  it('fails with Unavailable when the connection is closed in the handshake', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.end()));
    expect(await refusal(dial(await listening(server)))).toMatchObject({ code: 'Unavailable' });
  });

  it('speaks TLS 1.3 and nothing older', async () => {
    const server = createTlsServer({ ...tlsOf(relay), maxVersion: 'TLSv1.2', ALPNProtocols: ['h2'] });
    server.on('tlsClientError', () => {});
    const { code, message } = await refusal(dial(await listening(server)));
    expect(code).toBe('Unavailable');
    expect(message).toContain('alert protocol version');
  });

  it.each([404, 401])(
    'fails with Protocol when the peer knows no sessions and answers with the status %i',
    async (answered) => {
      const server = createSecureServer({ ...tlsOf(relay) });
      server.on('stream', (stream: ServerHttp2Stream) => stream.respond({ ':status': answered }, { endStream: true }));
      const address = await listening(server);
      expect(await refusal(dial(address))).toEqual({
        code: 'Protocol',
        message: `${address}: Received HTTP status code ${answered}`,
      });
    },
  );

  it.each([
    [401, 'Protocol', 'Received HTTP status code 401'],
    [404, 'Protocol', 'Received HTTP status code 404'],
    [502, 'Unavailable', 'Received HTTP status code 502'],
    [200, 'Protocol', 'Received RST_STREAM with code 0 (Call ended without gRPC status)'],
  ] as const)('reports that a gateway answers %i, whatever page the gateway sends', async (answered, code, reason) => {
    for (const page of ['<html>no</html>', '\0\0\0\0\x05hello', 'no', '<'.repeat(300_000)]) {
      const server = createSecureServer(tlsOf(relay));
      server.on('sessionError', () => {});
      server.on('stream', (stream: ServerHttp2Stream) => {
        stream.on('error', () => {});
        stream.respond({ ':status': answered, 'content-type': 'text/html' });
        // Not ended: some servers never end.
        stream.write(page);
      });
      const address = await listening(server);
      expect(await refusal(dial(address))).toEqual({ code, message: `${address}: ${reason}` });
    }
  });

  // -------------------------------------------------------------------------------------- a parent that sends garbage

  const taken = { ':status': 200, 'content-type': 'application/grpc', 'banyan-link': 'ab' };

  /** Accepts the call, and lets the test answer it. */
  async function rudeParent(answer: object = taken): Promise<{ address: string; call: Promise<ServerHttp2Stream> }> {
    const server = createSecureServer(tlsOf(relay));
    const call = new Promise<ServerHttp2Stream>((resolve) => {
      // The child closes the connection without a Goodbye.
      server.on('sessionError', () => {});
      server.on('stream', (stream: ServerHttp2Stream) => {
        stream.on('error', () => {}).resume();
        stream.respond({ ...answer });
        resolve(stream);
      });
    });
    return { address: await listening(server), call };
  }

  function message(bytes: Uint8Array): Buffer {
    const header = Buffer.alloc(5);
    header.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([header, bytes]);
  }

  it.each([
    ['bytes that are no frame', Buffer.alloc(100, 0xff), 'Protocol', /^100 bytes that are no frame: /],
    [
      'a frame over the limit',
      Buffer.alloc(maxFrameBytes + 1),
      'TooLarge',
      /^a frame of 4194305 bytes; the limit is 4194304$/,
    ],
    ['a frame far over the limit', Buffer.alloc(2 * maxFrameBytes), 'TooLarge', /8388608 vs 4259840/],
  ])('ends its link by %s, reports why, and hangs up', async (_what, garbage, code, reason) => {
    const { address, call } = await rudeParent();
    const log = new LinkLog();
    await dial(address, {}, log);
    const stream = await call;
    const hungUp = new Promise((resolve) => stream.once('close', resolve));
    stream.write(message(encodeFrame(beat(1))));
    stream.write(message(garbage));
    expect(await log.closed()).toMatchObject({ code, message: expect.stringMatching(reason) });
    expect(log.frames).toEqual([beat(1)]);
    await hungUp;
    expect(log.closes).toHaveLength(1);
  });

  it('makes no link from an answer that does not name the session, and hangs up', async () => {
    const { address, call } = await rudeParent({ ':status': 200, 'content-type': 'application/grpc' });
    const message = `${address}: the answer does not name the session in banyan-link`;
    await expect(dial(address)).rejects.toMatchObject({ code: 'Protocol', message });
    const stream = await call;
    if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
  });

  it('receives an end that comes together with the acceptance', async () => {
    const server = createSecureServer(tlsOf(relay));
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.on('error', () => {});
      const trailers = { 'grpc-status': '16', 'grpc-message': 'not any more', 'banyan-code': 'Unauthorized' };
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      stream.respond(taken, { waitForTrailers: true });
      stream.end();
    });
    const address = await listening(server);
    const log = new LinkLog();
    await dial(address, {}, log);
    expect(await log.closed()).toMatchObject({ code: 'Unauthorized', message: `${address}: not any more` });
  });

  it('ends a link by a compressed message, which nobody has asked for', async () => {
    const { address, call } = await rudeParent();
    const log = new LinkLog();
    await dial(address, {}, log);
    const compressed = message(encodeFrame(beat(1)));
    compressed[0] = 1;
    (await call).write(compressed);
    expect(await log.closed()).toMatchObject({ code: 'TooLarge' });
  });

  it('ends a link by a frame in too many pieces, each of which would be kept separately', async () => {
    const { address, call } = await rudeParent();
    const log = new LinkLog();
    await dial(address, {}, log);
    const stream = await call;
    stream.write(message(Buffer.alloc(40_000)).subarray(0, 5));
    const byte = Buffer.alloc(1);
    // One after the other, because they would be joined otherwise.
    while (!stream.closed) await new Promise<void>((resolve) => stream.write(byte, () => resolve()));
    expect(await log.closed()).toMatchObject({ code: 'TooLarge' });
  });

  it('enlarges its receive window for the stream and for the connection', async () => {
    const { address, call } = await rudeParent();
    await dial(address);
    const session = (await call).session!;
    await new Promise<void>((resolve) => session.ping(() => resolve()));
    expect(session.remoteSettings.initialWindowSize).toBe(8 * 1024 * 1024);
    expect(session.state.remoteWindowSize).toBe(8 * 1024 * 1024);
  });
});
