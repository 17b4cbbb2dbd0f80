import { once } from 'node:events';
import { type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { encodeFrame, maxFrameBytes } from '../../../../../core/wire/codec/frames.ts';
import { MessageBounds } from '../../../../../core/wire/grpc/message-bounds.ts';
import { sessionMethod } from '../../../../../core/wire/grpc/session-method.ts';
import { listenMesh } from '../../../../../core/wire/network/mesh-listener.ts';
import type { NodeCredentials } from '../../../../../core/wire/node-credentials.ts';
import { sessionPath, subprotocol } from '../../../../../core/wire/websocket/websocket-messages.ts';
import { beat, LinkLog } from '../../../../support/link-log.ts';
import { TestTree } from '../../../../support/test-tree.ts';

const unprovenBytes = 128 * 1024;
const calm = 0xb;

function message(bytes: number, flag = 0): Buffer {
  const all = Buffer.alloc(5 + bytes, 1);
  all[0] = flag;
  all.writeUInt32BE(bytes, 1);
  return all;
}

/** Whether all of it is accepted, in pieces of some bytes that nobody reads. */
function accepts(bounds: MessageBounds, bytes: Buffer, pieceBytes: number, unread = 0): boolean {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (!bounds.take(bytes.subarray(at, at + pieceBytes), unread + at)) return false;
  }
  return true;
}

describe('the bounds of messages', () => {
  it.each([1, 3, 5, 7, 16_384])('let messages pass that come in pieces of %i bytes, however many', (pieceBytes) => {
    const bounds = new MessageBounds(true);
    const some = Buffer.concat([message(0), message(1), message(300), message(0), message(16_000)]);
    for (let i = 0; i < 10; i++) expect(accepts(bounds, some, pieceBytes)).toBe(true);
  });

  it('let a message of 4 MiB pass in pieces of 257 bytes, and not in smaller ones', () => {
    expect(accepts(new MessageBounds(true), message(maxFrameBytes), 257)).toBe(true);
    expect(accepts(new MessageBounds(true), message(maxFrameBytes), 255)).toBe(false);
  });

  it('let no compressed message pass', () => {
    expect(accepts(new MessageBounds(true), Buffer.concat([message(3), message(3, 1)]), 6)).toBe(false);
  });

  it('are narrow until the first message of an unproven peer was read', () => {
    expect(accepts(new MessageBounds(false), message(unprovenBytes), 16_384)).toBe(false);
    expect(accepts(new MessageBounds(false), message(1_000), 1)).toBe(false);
    const bounds = new MessageBounds(false);
    expect(accepts(bounds, message(100_000), 16_384)).toBe(true);
    expect(bounds.take(message(50_000), 0)).toBe(true);
    expect(accepts(bounds, message(maxFrameBytes), 16_384)).toBe(true);
  });
});

describe('a listener', () => {
  let own: NodeCredentials;
  let kid: NodeCredentials;
  beforeAll(async () => {
    const tree = await TestTree.create();
    [own, kid] = await Promise.all([tree.credentials('eu', 'relay'), tree.credentials('eu:kid', 'agent')]);
  });

  const listen = (terminatedTls: boolean, events = new LinkLog()) =>
    listenMesh({
      host: '127.0.0.1',
      port: 0,
      credentials: own,
      accept: () => events,
      terminatedTls,
      log: silentLogger,
    });
  const closeOf = (call: ClientHttp2Stream) => new Promise<void>((resolve) => call.once('close', () => resolve()));
  const headers = { ':method': 'POST', ':path': sessionMethod, 'content-type': 'application/grpc', te: 'trailers' };

  it.each([
    ['compressed', { 'grpc-encoding': 'gzip' }, Buffer.concat([message(20, 1)])],
    ['in too many pieces', {}, undefined],
  ])('ends the call of a child whose message is %s', async (_, more, bytes) => {
    const listener = await listen(false);
    const shown = { cert: kid.certPem, key: kid.keyPem, rejectUnauthorized: false };
    const session = connectHttp2(`https://${listener.address}`, shown).on('error', () => {});
    const call = session.request({ ...headers, ...more }).on('error', () => {});
    await once(call.resume(), 'response');
    const closed = closeOf(call);
    if (bytes) call.write(bytes);
    else {
      call.write(message(40_000).subarray(0, 5));
      const byte = Buffer.alloc(1);
      // One after the other, because they would be joined otherwise.
      while (!call.closed) await new Promise<void>((resolve) => call.write(byte, () => resolve()));
    }
    await closed;
    expect(call.rstCode).toBe(calm);
    session.destroy();
    await listener[Symbol.asyncDispose]();
  });

  it('ends a call that sends more than a proof before its proof', async () => {
    const listener = await listen(true);
    const session = connectHttp2(`https://${listener.address}`, { rejectUnauthorized: false }).on('error', () => {});
    const call = session.request(headers).on('error', () => {});
    await once(call.resume(), 'response');
    call.write(message(200_000));
    await closeOf(call);
    expect(call.rstCode).toBe(calm);
    session.destroy();
    await listener[Symbol.asyncDispose]();
  });

  it('ends a WebSocket that sends more than a proof before its proof', async () => {
    const listener = await listen(true);
    const [host, port] = listener.address.split(':');
    const createConnection = () => connectTls({ host, port: Number(port), rejectUnauthorized: false });
    const webSocket = new WebSocket(`ws://${listener.address}${sessionPath}`, [subprotocol], { createConnection });
    webSocket.on('error', () => {});
    await once(webSocket, 'open');
    webSocket.send(Buffer.alloc(200_000));
    const [code] = (await once(webSocket, 'close')) as [number];
    expect(code).toBe(1006);
    await listener[Symbol.asyncDispose]();
  });

  it('accepts frames of a proven child', async () => {
    const events = new LinkLog();
    const listener = await listen(false, events);
    const shown = { cert: kid.certPem, key: kid.keyPem, rejectUnauthorized: false };
    const session = connectHttp2(`https://${listener.address}`, shown).on('error', () => {});
    const call = session.request(headers).on('error', () => {});
    await once(call.resume(), 'response');
    const frame = encodeFrame(beat(1));
    const header = Buffer.alloc(5);
    header.writeUInt32BE(frame.length, 1);
    for (let i = 0; i < 3; i++) call.write(Buffer.concat([header, frame]));
    await events.until(({ frames }) => frames.length === 3);
    session.destroy();
    await listener[Symbol.asyncDispose]();
  });
});
