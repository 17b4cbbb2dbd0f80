import { once } from 'node:events';
import { type ClientHttp2Session, connect, type Settings } from 'node:http2';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callsMax, channelOptions } from '../../../../../core/wire/grpc/channel-options.ts';
import { openServerWindows } from '../../../../../core/wire/grpc/server-window.ts';
import { meshService, sessionMethod } from '../../../../../core/wire/grpc/session-method.ts';

const windowBytes = 8 * 1024 * 1024;

describe('the receive window of a server', () => {
  let server: Server;
  let client: ClientHttp2Session;
  /** The stalled calls: nobody ever reads them. */
  let stalled: ServerDuplexStream<Buffer, Buffer>[];

  beforeEach(async () => {
    openServerWindows();
    stalled = [];
    server = new Server(channelOptions);
    const session = (call: ServerDuplexStream<Buffer, Buffer>) => void stalled.push(call);
    const other = { session: { ...meshService.session, path: '/another.Service/Session' } };
    server.addService(meshService, { session });
    server.addService(other, { session });
    const port = await new Promise<number>((resolve, reject) => {
      const bound = (error: Error | null, actual: number) => (error ? reject(error) : resolve(actual));
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), bound);
    });
    client = connect(`http://127.0.0.1:${port}`);
  });
  afterEach(() => {
    client.destroy();
    server.forceShutdown();
  });

  function call(path: string) {
    const stream = client.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    return stream.on('error', () => {}).resume();
  }

  const pinged = () => new Promise<void>((resolve) => client.ping(() => resolve()));
  const opened = () =>
    new Promise<void>((resolve) => {
      client.on('remoteSettings', ({ initialWindowSize }: Settings) => {
        if (initialWindowSize === windowBytes) resolve();
      });
    });

  it('accepts 1 MiB from a call of the mesh that nobody reads', async () => {
    const stream = call(sessionMethod);
    // The beginning of a message of 2 MiB. The callback comes when the last byte fits into the receiver's window.
    const bytes = Buffer.alloc(1024 * 1024);
    bytes.writeUInt32BE(2 * 1024 * 1024, 1);
    await new Promise<void>((resolve) => stream.write(bytes, () => resolve()));
    expect(stalled).toHaveLength(1);
    expect(stalled[0]!.readableLength).toBe(0);
  });

  it('is 8 MiB for each stream and for the connection', async () => {
    const known = opened();
    call(sessionMethod);
    await known;
    // Sent in this order on one connection, so the window is known when the ping is answered.
    await pinged();
    expect(client.remoteSettings.initialWindowSize).toBe(windowBytes);
    expect(client.state.remoteWindowSize).toBe(windowBytes);
  });

  it('does not change if no call of the mesh came', async () => {
    await once(client, 'connect');
    call('/another.Service/Session');
    await pinged();
    await pinged();
    expect(stalled).toHaveLength(1);
    expect(client.remoteSettings.initialWindowSize).toBe(65_535);
  });
});

describe('the calls on a connection of a server', () => {
  let server: Server;
  let client: ClientHttp2Session;
  afterEach(() => {
    client.destroy();
    server.forceShutdown();
  });

  it('are limited, and the next one comes when one is over', async () => {
    openServerWindows();
    const taken: ServerDuplexStream<Buffer, Buffer>[] = [];
    server = new Server(channelOptions);
    server.addService(meshService, { session: (call: ServerDuplexStream<Buffer, Buffer>) => void taken.push(call) });
    const port = await new Promise<number>((resolve, reject) => {
      const bound = (error: Error | null, actual: number) => (error ? reject(error) : resolve(actual));
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), bound);
    });
    client = connect(`http://127.0.0.1:${port}`);
    await once(client, 'remoteSettings');
    expect(client.remoteSettings.maxConcurrentStreams).toBe(callsMax);
    const request = { ':method': 'POST', ':path': sessionMethod, 'content-type': 'application/grpc' };
    const calls = Array.from({ length: callsMax + 10 }, () => client.request(request).on('error', () => {}));
    await expect.poll(() => taken.length, { timeout: 10_000 }).toBe(callsMax);
    await new Promise<void>((resolve) => client.ping(() => resolve()));
    expect(taken.length).toBe(callsMax);
    calls[0]!.close();
    await expect.poll(() => taken.length, { timeout: 10_000 }).toBe(callsMax + 1);
  });
});
