import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { type Socket, connect as tcpConnect } from 'node:net';
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import type { Logger } from '../../../../../core/runtime/logger.ts';
import { encodeFrame, maxFrameBytes } from '../../../../../core/wire/codec/frames.ts';
import { sessionMethod } from '../../../../../core/wire/grpc/session-method.ts';
import type { Link, Listener } from '../../../../../core/wire/link.ts';
import { listenMesh } from '../../../../../core/wire/network/mesh-listener.ts';
import type { NodeCredentials } from '../../../../../core/wire/node-credentials.ts';
import { sessionPath, subprotocol } from '../../../../../core/wire/websocket/websocket-messages.ts';
import { beat, data, LinkLog } from '../../../../support/link-log.ts';
import { TestTree } from '../../../../support/test-tree.ts';

class LogLines implements Logger {
  readonly lines: { readonly message: string; readonly fields: object }[] = [];
  #waiting: (() => void) | undefined;

  debug() {}
  info() {}
  warn(fields: object, message: string): void {
    this.lines.push({ message, fields });
    this.#waiting?.();
  }
  error(fields: object, message: string): void {
    this.warn(fields, message);
  }
  child(): Logger {
    return this;
  }

  async first(): Promise<LogLines['lines'][number]> {
    if (this.lines.length === 0) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    return this.lines[0]!;
  }
}

const upgradeRequest = [
  `GET ${sessionPath} HTTP/1.1`,
  'Host: eu',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  `Sec-WebSocket-Protocol: ${subprotocol}`,
  '\r\n',
].join('\r\n');

let tree: TestTree;
let parentCredentials: NodeCredentials;
let childCredentials: NodeCredentials;
beforeAll(async () => {
  tree = await TestTree.create();
  parentCredentials = await tree.credentials('eu', 'relay');
  childCredentials = await tree.credentials('eu:kid', 'agent');
});

describe('a listener for children', () => {
  let clock: VirtualClock;
  let log: LogLines;
  let listener: Listener;
  let accepted: { link: Link; log: LinkLog }[];
  let open: { destroy(): void }[];

  beforeEach(async () => {
    clock = new VirtualClock();
    log = new LogLines();
    accepted = [];
    open = [];
    listener = await listenMesh({
      host: '127.0.0.1',
      port: 0,
      credentials: parentCredentials,
      clock,
      log,
      accept: (link) => {
        const events = new LinkLog();
        accepted.push({ link, log: events });
        return events;
      },
    });
  });
  afterEach(async () => {
    for (const peer of open) peer.destroy();
    await listener[Symbol.asyncDispose]();
  });

  // --------------------------------------------------------------------------------------------- peers that are no child

  const place = () => ({ host: '127.0.0.1', port: Number(listener.address.split(':')[1]) });
  const tlsOptions = ({ caPem, certPem, keyPem }: NodeCredentials): ConnectionOptions => ({
    ca: caPem,
    cert: certPem,
    key: keyPem,
    checkServerIdentity: () => undefined,
  });

  function overTcp(): Socket {
    const socket = tcpConnect(place());
    open.push(socket);
    return socket.on('error', () => {}).resume();
  }

  function overTls(options: ConnectionOptions): TLSSocket {
    const socket = tlsConnect({ ...place(), ...options });
    open.push(socket);
    socket.on('error', () => {}).resume();
    return socket;
  }

  function overHttp2(options: ConnectionOptions = tlsOptions(childCredentials)): ClientHttp2Session {
    const session = connectHttp2(`https://${listener.address}`, options);
    open.push(session);
    return session.on('error', () => {});
  }

  function call(session: ClientHttp2Session, path = sessionMethod): ClientHttp2Stream {
    const headers = { 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
    stream.on('error', () => {}).resume();
    return stream;
  }

  /** The encoding of a gRPC message: not compressed, its length, its bytes. */
  function message(bytes: Uint8Array): Buffer {
    const header = Buffer.alloc(5);
    header.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([header, bytes]);
  }

  /** The final status of the call, from the trailers, or from the headers if nothing else came. */
  async function answer(stream: ClientHttp2Stream): Promise<{ status: number; code: string; message: string }> {
    const trailers = await new Promise<Record<string, unknown>>((resolve) => {
      stream.on('trailers', resolve);
      stream.on('response', (headers) => headers['grpc-status'] !== undefined && resolve(headers));
    });
    const { 'grpc-status': status, 'banyan-code': code, 'grpc-message': message } = trailers;
    return { status: Number(status), code: String(code), message: decodeURIComponent(String(message)) };
  }

  /** A child that stays connected throughout, and its end of the link here. */
  async function bystander() {
    const stream = call(overHttp2());
    await once(stream, 'response');
    const here = accepted.at(-1)!;
    return async () => {
      stream.write(message(encodeFrame(beat(1))));
      await here.log.until(({ frames }) => frames.length === 1);
      expect(here.log.closes).toEqual([]);
    };
  }

  // --------------------------------------------------------------------------------------------------------- garbage

  it('ends a link by bytes that are no frame, notifies the peer, and logs the reason; no other link ends', async () => {
    const goesOn = await bystander();
    const stream = call(overHttp2());
    stream.write(message(encodeFrame(beat(1))));
    stream.write(message(Buffer.alloc(100, 0xff)));
    stream.write(message(encodeFrame(beat(2))));
    const reason = expect.stringMatching(/^100 bytes that are no frame: /);
    expect(await answer(stream)).toEqual({ status: 3, code: 'Protocol', message: reason });
    const here = accepted.at(-1)!.log;
    expect(await here.closed()).toMatchObject({ code: 'Protocol', message: reason });
    expect(here.frames).toEqual([beat(1)]);
    expect(log.lines).toEqual([
      {
        message: 'a link is broken off',
        fields: expect.objectContaining({ child: 'eu:kid', code: 'Protocol', reason }),
      },
    ]);
    await goesOn();
  });

  it('ends a link by a frame over the limit with both sizes, reported to both sides and logged', async () => {
    const goesOn = await bystander();
    const stream = call(overHttp2());
    stream.write(message(Buffer.alloc(maxFrameBytes + 1)));
    const reason = 'a frame of 4194305 bytes; the limit is 4194304';
    expect(await answer(stream)).toEqual({ status: 8, code: 'TooLarge', message: reason });
    expect(await accepted.at(-1)!.log.closed()).toMatchObject({ code: 'TooLarge', message: reason });
    expect(log.lines[0]?.fields).toMatchObject({ child: 'eu:kid', code: 'TooLarge', reason });
    await goesOn();
  });

  it('does not wait for the bytes of a frame whose announced length is far over the limit', async () => {
    const goesOn = await bystander();
    const stream = call(overHttp2());
    stream.write(message(Buffer.alloc(100 * 1024 * 1024)).subarray(0, 5));
    expect(await answer(stream)).toMatchObject({ status: 8, message: expect.stringContaining('104857600') });
    const here = accepted.at(-1)!.log;
    const reason = expect.stringContaining('a frame that is too large (limit 4194304 bytes)');
    expect(await here.closed()).toMatchObject({ message: reason });
    expect(here.bytes).toBe(0);
    expect(log.lines[0]?.fields).toMatchObject({ child: 'eu:kid', reason });
    await goesOn();
  });

  it('ends a link that breaks in the middle of a frame, and delivers nothing of the frame', async () => {
    const session = overHttp2();
    const stream = call(session);
    stream.write(message(encodeFrame(beat(1))));
    await once(stream, 'response');
    const here = accepted[0]!.log;
    await here.until(({ frames }) => frames.length === 1);
    stream.write(message(encodeFrame(data(Buffer.alloc(1000)))).subarray(0, 500), () => session.destroy());
    expect(await here.closed()).toMatchObject({ code: 'Unavailable' });
    expect(here.frames).toEqual([beat(1)]);
  });

  it('refuses a peer that speaks TLS with a valid certificate and then no HTTP/2, and logs why', async () => {
    const goesOn = await bystander();
    const socket = overTls({ ...tlsOptions(childCredentials), ALPNProtocols: ['h2'] });
    socket.write(Buffer.alloc(4_000, 7));
    await once(socket, 'close');
    const { message: text, fields } = await log.first();
    expect(text).toBe('a child was refused');
    expect(fields).toMatchObject({ reason: expect.stringContaining('bad client magic') });
    await goesOn();
  });

  it('explains the port to a browser without HTTP/2', async () => {
    const socket = overTls(tlsOptions(childCredentials));
    socket.write('GET / HTTP/1.1\r\nHost: eu\r\n\r\n');
    const [answered] = (await once(socket, 'data')) as [Buffer];
    expect(answered.toString()).toMatch(/^HTTP\/1\.1 404 .*where its children attach/s);
    socket.destroy();
    expect((await log.first()).message).toBe('a child was refused');
  });

  it('refuses a WebSocket request with a body, and continues', async () => {
    const goesOn = await bystander();
    const socket = overTls({ ...strangerOptions(), ALPNProtocols: ['http/1.1'] });
    socket.write(upgradeRequest.replace('\r\n\r\n', '\r\nContent-Length: 1000\r\n\r\nabc'));
    const [answered] = (await once(socket, 'data')) as [Buffer];
    expect(answered.toString()).toMatch(/^HTTP\/1\.1 400 .*a request for a WebSocket has no body/s);
    clock.advance(2_000);
    await once(socket, 'close');
    await goesOn();
  });

  it('refuses a peer without TLS, and logs why', async () => {
    const goesOn = await bystander();
    const socket = overTcp();
    socket.write(Buffer.alloc(4_000, 7));
    await once(socket, 'close');
    const { message: text, fields } = await log.first();
    expect(text).toBe('a child was refused');
    expect(fields).toMatchObject({ reason: expect.stringMatching(/./), remote: expect.stringContaining('127.0.0.1:') });
    await goesOn();
  });

  it('refuses other methods', async () => {
    expect(await answer(call(overHttp2(), '/banyan.mesh.v1.Mesh/Other'))).toMatchObject({ status: 12 });
    expect(accepted).toEqual([]);
  });

  it('carries one session on a connection: a second one ends both', async () => {
    const session = overHttp2();
    await once(call(session), 'response');
    call(session);
    await once(session, 'close');
    expect(await accepted[0]!.log.closed()).toMatchObject({ code: 'Unavailable', message: 'the connection broke' });
    expect(accepted).toHaveLength(1);
  });

  // ------------------------------------------------------------------------------------------------------------ life

  it('counts the bytes of an unfinished frame as life, and those of a ping not', async () => {
    const session = overHttp2();
    const stream = call(session);
    await once(stream, 'response');
    const here = accepted[0]!.log;
    // The handshake of HTTP/2 is complete once a ping is answered.
    const ping = () => new Promise<void>((resolve) => session.ping(() => resolve()));
    await ping();
    clock.advance(2_000);
    const before = here.bytes;
    await ping();
    clock.advance(2_000);
    expect(here.bytes).toBe(before);
    stream.write(message(Buffer.alloc(100_000)).subarray(0, 3_000));
    await ping();
    clock.advance(2_000);
    expect(here.bytes - before).toBeGreaterThanOrEqual(3_000);
    expect(here.frames).toEqual([]);
  });

  it('closes a connection on which no session is begun within 10 s', async () => {
    const socket = overTls({ ...tlsOptions(childCredentials), ALPNProtocols: ['h2'] });
    await once(socket, 'secureConnect');
    // Sent after the handshake of this side is complete: the other side has the connection when its settings arrive.
    await once(socket, 'data');
    clock.advance(9_999);
    expect(log.lines).toEqual([]);
    clock.advance(1);
    await once(socket, 'close');
    expect((await log.first()).fields).toMatchObject({ reason: 'no session was begun within 10000 ms' });
  });

  const strangerOptions = () => ({ ca: parentCredentials.caPem, checkServerIdentity: () => undefined });

  /** Refused already, and still connected. */
  const stays = {
    async gRPC() {
      const session = overHttp2(strangerOptions());
      await answer(call(session));
      return session;
    },
    async WebSocket() {
      const line = tcpConnect({ ...place(), allowHalfOpen: true });
      const socket = overTls({ ...strangerOptions(), ALPNProtocols: ['http/1.1'], socket: line });
      socket.write(upgradeRequest);
      await once(socket, 'end');
      // An end that is closed for good answers all data with a reset; an end that waits for this one accepts them.
      const knock = setInterval(() => socket.write('x'), 10);
      socket.once('close', () => clearInterval(knock));
      return socket;
    },
  };

  it.each(['gRPC', 'WebSocket'] as const)(
    'closes the connection of a refused peer that stays, over %s',
    async (transport) => {
      const peer = await stays[transport]();
      clock.advance(2_000);
      await new Promise<void>((resolve) => peer.once('close', () => resolve()));
      expect(accepted).toEqual([]);
    },
  );

  it('answers one call of a refused peer: the next ends its connection', async () => {
    const session = overHttp2({ ca: parentCredentials.caPem, checkServerIdentity: () => undefined });
    await answer(call(session));
    call(session);
    await once(session, 'close');
    expect(log.lines).toHaveLength(1);
  });

  it('closes its connections when it ends, also silent ones', async () => {
    const silent = overTcp();
    await once(silent, 'connect');
    const gone = once(silent, 'close');
    await listener[Symbol.asyncDispose]();
    await gone;
  });

  it('ends its links in order when it ends', async () => {
    const stream = call(overHttp2());
    await once(stream, 'response');
    const ended = answer(stream);
    const disposed = listener[Symbol.asyncDispose]();
    expect(await ended).toMatchObject({ status: 0 });
    stream.end();
    clock.advance(2_000);
    await disposed;
    expect(accepted[0]!.log.closes).toEqual([undefined]);
  });

  // ------------------------------------------------------------------------------------------------------ identities

  describe('refuses a peer with a message', () => {
    const dayMs = 86_400_000;
    const at = (days: number) => new VirtualClock(Date.now() + days * dayMs);

    async function refusal(options: ConnectionOptions): Promise<string> {
      const { status, code, message } = await answer(call(overHttp2(options)));
      expect({ status, code }).toEqual({ status: 16, code: 'Unauthorized' });
      expect(accepted).toEqual([]);
      expect(log.lines).toEqual([
        { message: 'a child was refused', fields: expect.objectContaining({ reason: message }) },
      ]);
      return message;
    }

    it('that has no certificate', async () => {
      expect(await refusal({ ca: parentCredentials.caPem, checkServerIdentity: () => undefined })).toBe(
        'no certificate was presented; a node needs one of this tree',
      );
    });

    it('whose certificate is of another tree', async () => {
      const stranger = await (await TestTree.create('other')).credentials('eu:kid', 'agent');
      expect(await refusal(tlsOptions({ ...stranger, caPem: parentCredentials.caPem }))).toMatch(
        /^the certificate spiffe:\/\/other\/node\/agent\/eu\/kid was not signed by the authority of this tree \(UNABLE_TO_/,
      );
    });

    it('whose certificate is of another tree of the same name', async () => {
      const stranger = await (await TestTree.create(tree.name)).credentials('eu:kid', 'agent');
      expect(await refusal(tlsOptions({ ...stranger, caPem: parentCredentials.caPem }))).toContain(
        'spiffe://test/node/agent/eu/kid was not signed by the authority of this tree',
      );
    });

    it('whose certificate has expired', async () => {
      const expired = await tree.credentials('eu:kid', 'agent', at(-400));
      expect(await refusal(tlsOptions(expired))).toMatch(
        /^the certificate spiffe:\/\/test\/node\/agent\/eu\/kid expired on .* GMT: issue a new one$/,
      );
    });

    it('whose certificate is not yet valid', async () => {
      const early = await tree.credentials('eu:kid', 'agent', at(2));
      expect(await refusal(tlsOptions(early))).toMatch(/is valid only from .* GMT: compare the clocks of both ends$/);
    });

    it('whose certificate is for a user', async () => {
      const user = tree.with(await tree.user('ann'));
      expect(await refusal(tlsOptions(user))).toBe(
        'the certificate names no node of a tree (it has no alternative names)',
      );
    });
  });

  it('speaks TLS 1.3 and nothing older', async () => {
    const old = overTls({ ...tlsOptions(childCredentials), ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2' });
    const [error] = (await once(old, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
    expect((await log.first()).fields).toMatchObject({ reason: expect.stringContaining('unsupported protocol') });
    const current = overTls({ ...tlsOptions(childCredentials), ALPNProtocols: ['h2'] });
    await once(current, 'secureConnect');
    expect(current.getProtocol()).toBe('TLSv1.3');
  });

  it('says which port is taken', async () => {
    const { host, port } = place();
    const second = listenMesh({ host, port, credentials: parentCredentials, log, accept: () => new LinkLog() });
    await expect(second).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringMatching(
        `can't listen on 127.0.0.1:${port} .*EADDRINUSE.*: free the port or choose another`,
      ),
    });
  });
});
