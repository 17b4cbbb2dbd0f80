import { type AddressInfo, createServer, type Socket, type Server as TcpServer, connect as tcpConnect } from 'node:net';
import { Client, Metadata, type ServiceError } from '@grpc/grpc-js';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock, VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { decodeFrame, encodeFrame } from '../../../../../core/wire/codec/frames.ts';
import { channelOptions } from '../../../../../core/wire/grpc/channel-options.ts';
import { grpcDialer } from '../../../../../core/wire/grpc/grpc-dialer.ts';
import { asBytes, sessionMethod, streamMethod } from '../../../../../core/wire/grpc/session-method.ts';
import { TlsChannel } from '../../../../../core/wire/grpc/tls-channel.ts';
import type { Link, LinkEvents, Listener } from '../../../../../core/wire/link.ts';
import { listenMesh } from '../../../../../core/wire/network/mesh-listener.ts';
import type { NodeCredentials } from '../../../../../core/wire/node-credentials.ts';
import { beat, data, LinkLog } from '../../../../support/link-log.ts';
import { TestTree } from '../../../../support/test-tree.ts';
import { wayTo } from '../../../../support/ways.ts';

let tree: TestTree;
let parent: NodeCredentials;
let kid: NodeCredentials;
let sister: NodeCredentials;
beforeAll(async () => {
  tree = await TestTree.create();
  parent = await tree.credentials('eu', 'relay');
  kid = await tree.credentials('eu:kid', 'agent');
  sister = await tree.credentials('eu:sister', 'agent');
});

class ParentLog extends LinkLog {
  readonly streams: number[] = [];

  onStream(id: number, _link: Link): LinkEvents {
    this.streams.push(id);
    return new LinkLog();
  }
}

describe('calls for streams', () => {
  let listener: Listener;
  let parents: ParentLog[];
  const open: (() => unknown)[] = [];
  const clock = new VirtualClock();

  beforeEach(async () => {
    parents = [];
    listener = await listenMesh({
      host: '127.0.0.1',
      port: 0,
      credentials: parent,
      log: silentLogger,
      clock,
      accept: () => {
        const log = new ParentLog();
        parents.push(log);
        return log;
      },
    });
  });
  afterEach(async () => {
    for (const close of open.splice(0)) await close();
    await listener[Symbol.asyncDispose]();
  });

  /** A client with a certificate of the tree that follows no rules. */
  function client(by: NodeCredentials): Client {
    const channel = new TlsChannel(
      wayTo({ address: listener.address, parentPath: 'eu', credentials: by, clock: systemClock }),
    );
    const made = new Client(listener.address, channel, channelOptions);
    open.push(() => {
      made.close();
      channel.close();
    });
    return made;
  }

  /** Begins a session; returns the parent's name of the session. */
  function session(by: Client): Promise<string> {
    const call = by.makeBidiStreamRequest(sessionMethod, asBytes, asBytes, new Metadata());
    call.on('error', () => {});
    open.push(() => call.cancel());
    return new Promise((resolve) => call.once('metadata', (answer) => resolve(String(answer.get('banyan-link')[0]))));
  }

  /** The code and message with which a call is refused; undefined: the call is taken. */
  function stream(by: Client, of: Record<string, string>): Promise<string | undefined> {
    const metadata = new Metadata();
    for (const [key, value] of Object.entries(of)) metadata.set(key, value);
    const call = by.makeBidiStreamRequest(streamMethod, asBytes, asBytes, metadata);
    open.push(() => call.cancel());
    return new Promise((resolve) => {
      call.once('metadata', () => resolve(undefined));
      call.on('error', ({ metadata: trailers, details }: ServiceError) =>
        resolve(`${trailers.get('banyan-code')[0]}: ${details}`),
      );
    });
  }

  const address = (link: string, id = '2') => ({ 'banyan-link': link, 'banyan-stream': id });

  it('are accepted on the connection of their session, and on another one of the same child', async () => {
    const first = client(kid);
    const name = await session(first);
    expect(await stream(first, address(name, '2'))).toBeUndefined();
    expect(await stream(client(kid), address(name, '4'))).toBeUndefined();
    expect(parents[0]!.streams).toEqual([2, 4]);
  });

  it('are refused to another child, even if it knows the name of the session', async () => {
    const name = await session(client(kid));
    expect(await stream(client(sister), address(name))).toMatch(
      /^Forbidden: the agent "eu:sister" has no such session/,
    );
    const own = client(sister);
    await session(own);
    expect(await stream(own, address(name))).toMatch(/^Forbidden: /);
    expect(parents.map(({ streams }) => streams)).toEqual([[], []]);
  });

  it('are refused on the connection of another session, also of the same child', async () => {
    const [first, second] = [client(kid), client(kid)];
    const name = await session(first);
    expect(await session(second)).not.toBe(name);
    expect(await stream(second, address(name))).toMatch(/^Forbidden: /);
    expect(parents[0]!.streams).toEqual([]);
  });

  it.each([
    ['of a session that there is not', { 'banyan-link': 'ab'.repeat(16), 'banyan-stream': '2' }, /^NotFound: /],
    ['without a session', { 'banyan-stream': '2' }, /^Protocol: .*banyan-link/],
    ['without a number', { 'banyan-link': 'ab' }, /^Protocol: /],
    ['of stream 0', address('ab', '0'), /^Protocol: /],
    ['of stream -2', address('ab', '-2'), /^Protocol: /],
    ['of a stream that no number can hold', address('ab', '99999999999999999'), /^Protocol: /],
    ['of stream 2e3', address('ab', '2e3'), /^Protocol: /],
  ])('are refused %s, and the connection is closed', async (_, of, message) => {
    const one = client(kid);
    expect(await stream(one, of)).toMatch(message);
    clock.advance(5_000);
    await expect.poll(() => one.getChannel().getConnectivityState(false)).not.toBe(2);
  });

  it('with invalid bytes end with a message, and neither the session nor another stream ends', async () => {
    const first = client(kid);
    const name = await session(first);
    const bystander = await stream(first, address(name, '2'));
    expect(bystander).toBeUndefined();
    let broken = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const random = new SeededRandom(seed);
      const metadata = new Metadata();
      metadata.set('banyan-link', name);
      metadata.set('banyan-stream', String(2 + 2 * seed));
      const call = first.makeBidiStreamRequest(streamMethod, asBytes, asBytes, metadata);
      const ended = new Promise<ServiceError>((resolve) => call.on('error', resolve));
      // Half of them begin like a frame, with a wrong length.
      const garbage = Buffer.from(random.bytes(1 + Math.floor(random.fraction() * 5_000)));
      if (seed % 2 === 0) Buffer.from(encodeFrame(data(Buffer.alloc(9_000)))).copy(garbage);
      call.write(garbage);
      if (isFrame(garbage)) {
        // A frame of a later version, as far as the receiver knows: ignored.
        call.cancel();
        continue;
      }
      broken++;
      const { metadata: trailers, details } = await ended;
      expect([trailers.get('banyan-code')[0], details]).toEqual(['Protocol', expect.stringContaining('no frame')]);
    }
    expect(broken).toBeGreaterThan(30);
    expect(parents[0]!.closes).toEqual([]);
  });

  it('do not turn their connection into a session', async () => {
    const name = await session(client(kid));
    const second = client(kid);
    expect(await stream(second, address(name))).toBeUndefined();
    const call = second.makeBidiStreamRequest(sessionMethod, asBytes, asBytes, new Metadata());
    await new Promise<ServiceError>((resolve) => call.on('error', resolve));
    expect(parents.length).toBe(1);
  });

  it('are refused with the session’s own message, and the session continues', async () => {
    const first = client(kid);
    const name = await session(first);
    parents[0]!.onStream = () => {
      throw new BanyanError('NotFound', 'nobody waits for it');
    };
    expect(await stream(first, address(name))).toBe('NotFound: nobody waits for it');
    expect(parents[0]!.closes).toEqual([]);
  });
});

describe('a dialer with large streams', () => {
  let server: TcpServer;
  const sockets = new Set<Socket>();
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  /** Counts the connections that it passes on. Each goes to the next target, as behind a balancer, and to the last one from then on. */
  async function counting(...targets: string[]): Promise<string> {
    server = createServer((near) => {
      const [host, port] = (targets.length > 1 ? targets.shift()! : targets[0]!).split(':');
      const far = tcpConnect(Number(port), host!);
      sockets.add(near);
      near.on('close', () => {
        sockets.delete(near);
        far.destroy();
      });
      for (const socket of [near, far]) socket.on('error', () => near.destroy());
      far.on('close', () => near.destroy());
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const listening = (log: LinkEvents) =>
    listenMesh({ host: '127.0.0.1', port: 0, credentials: parent, log: silentLogger, accept: () => log });

  /** `made`: connections so far, including the session's. */
  async function dialed(address: string, clock: Clock = systemClock): Promise<{ link: Link; made: () => number }> {
    let made = 0;
    server.on('connection', () => made++);
    const dialer = grpcDialer(wayTo({ address, parentPath: 'eu', credentials: kid, clock }));
    return { link: await dialer.dial(new LinkLog(), 10_000), made: () => made };
  }

  function refuse(log: ParentLog, refused: number): void {
    const onStream = log.onStream.bind(log);
    log.onStream = (id, link) => {
      if (id === refused) throw new BanyanError('NotFound', 'nobody waits for it');
      return onStream(id, link);
    };
  }

  async function openedApart(link: Link, id: number) {
    const log = new LinkLog();
    return { id, log, stream: await link.openStream!(id, true, log) };
  }

  /** Whether its data go over the second connection, and not over the session's. */
  async function goesApart(stream: Link): Promise<boolean> {
    const bytesOf = () => [...sockets].map(({ bytesRead }) => bytesRead);
    const [before] = bytesOf();
    const bytes = 100_000;
    const total = bytesOf().reduce((sum, read) => sum + read, bytes);
    stream.send(data(Buffer.alloc(bytes)));
    await expect.poll(() => bytesOf().reduce((sum, read) => sum + read, 0)).toBeGreaterThan(total);
    return bytesOf()[0]! - before! < bytes;
  }

  it('makes one other connection for all of them, closes it after a minute without streams, and makes it again', async () => {
    const listener = await listenMesh({
      host: '127.0.0.1',
      port: 0,
      credentials: parent,
      log: silentLogger,
      accept: () => new ParentLog(),
      clock: systemClock,
    });
    const clock = new VirtualClock();
    const dialer = grpcDialer(
      wayTo({ address: await counting(listener.address), parentPath: 'eu', credentials: kid, clock }),
    );
    const link = await dialer.dial(new LinkLog(), 10_000);
    const opened = async (id: number) => {
      const log = new LinkLog();
      const stream = await link.openStream!(id, true, log);
      stream.send(beat(1));
      return { stream, log };
    };
    const [first, second] = [await opened(2), await opened(4)];
    await expect.poll(() => sockets.size).toBe(2);
    for (const { stream, log } of [first, second]) {
      stream.close('enough');
      await log.closed();
    }
    clock.advance(59_000);
    const third = await opened(6);
    clock.advance(59_000);
    third.stream.close('enough');
    await third.log.closed();
    expect(sockets.size).toBe(2);
    clock.advance(60_000);
    await expect.poll(() => sockets.size).toBe(1);
    const fourth = await opened(8);
    await expect.poll(() => sockets.size).toBe(2);
    link.close('enough');
    await fourth.log.closed();
    await listener[Symbol.asyncDispose]();
  });

  it('sends them with the session when another connection leads to another node, and tries again after a minute', async () => {
    const [own, other] = [new ParentLog(), new ParentLog()];
    const listeners = await Promise.all([own, other].map(listening));
    const clock = new VirtualClock();
    const { link, made } = await dialed(await counting(listeners[0]!.address, listeners[1]!.address), clock);
    for (const id of [2, 4]) {
      await link.openStream!(id, true, new LinkLog());
      await expect.poll(() => own.streams.at(-1)).toBe(id);
      expect(made()).toBe(2);
    }
    clock.advance(60_000);
    await link.openStream!(6, true, new LinkLog());
    await expect.poll(() => own.streams).toEqual([2, 4, 6]);
    expect(made()).toBe(3);
    expect(other.streams).toEqual([]);
    link.close('enough');
    for (const listener of listeners) await listener[Symbol.asyncDispose]();
  });

  it.each([
    ['first', [4, 2, 6]],
    ['behind others', [2, 6, 4]],
  ])('keeps the other connection when the session also refuses one stream, %s of several at once', async (_, ids) => {
    const own = new ParentLog();
    const listener = await listening(own);
    const { link } = await dialed(await counting(listener.address));
    refuse(own, 4);
    const opened = await Promise.all(ids.map((id) => openedApart(link, id)));
    const byId = new Map(opened.map((one) => [one.id, one]));
    expect(await byId.get(4)!.log.closed()).toMatchObject({ code: 'NotFound' });
    for (const id of [2, 6]) expect(await goesApart(byId.get(id)!.stream)).toBe(true);
    expect([2, 6].map((id) => byId.get(id)!.log.closes)).toEqual([[], []]);
    link.close('enough');
    await listener[Symbol.asyncDispose]();
  });

  it('sends the next stream on the other connection when the session also refused all streams so far', async () => {
    const own = new ParentLog();
    const listener = await listening(own);
    const { link, made } = await dialed(await counting(listener.address));
    refuse(own, 2);
    expect(await (await openedApart(link, 2)).log.closed()).toMatchObject({ code: 'NotFound' });
    expect(await goesApart((await openedApart(link, 4)).stream)).toBe(true);
    expect(made()).toBe(2);
    link.close('enough');
    await listener[Symbol.asyncDispose]();
  });

  it('sends them with the session when its other connection has broken and the next one leads to another node', async () => {
    const [own, other] = [new ParentLog(), new ParentLog()];
    const listeners = await Promise.all([own, other].map(listening));
    const [at, elsewhere] = listeners.map(({ address }) => address) as [string, string];
    const { link, made } = await dialed(await counting(at, at, elsewhere));
    const log = new LinkLog();
    await link.openStream!(2, true, log);
    await expect.poll(() => own.streams).toEqual([2]);
    [...sockets][1]!.destroy();
    expect(await log.closed()).toMatchObject({ code: 'Unavailable' });
    const nextStreams = [new LinkLog(), new LinkLog()];
    await link.openStream!(4, true, nextStreams[0]!);
    await expect.poll(() => own.streams).toEqual([2, 4]);
    await link.openStream!(6, true, nextStreams[1]!);
    await expect.poll(() => own.streams).toEqual([2, 4, 6]);
    expect(nextStreams.map(({ closes }) => closes)).toEqual([[], []]);
    expect(other.streams).toEqual([]);
    expect(made()).toBe(3);
    link.close('enough');
    for (const listener of listeners) await listener[Symbol.asyncDispose]();
  });
});

function isFrame(bytes: Uint8Array): boolean {
  try {
    decodeFrame(bytes);
    return true;
  } catch {
    return false;
  }
}
