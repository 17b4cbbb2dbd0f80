import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { maxFrameBytes } from '../../../../../core/wire/codec/frames.ts';
import { WebSocketCall } from '../../../../../core/wire/websocket/websocket-call.ts';
import { brokenOff, closedInOrder } from '../../../../../core/wire/websocket/websocket-messages.ts';
import { beat, dataOfFrameBytes, LinkLog } from '../../../../support/link-log.ts';

class CountingClock extends VirtualClock {
  timers = 0;

  override after(delayMs: number, fire: () => void) {
    this.timers++;
    return super.after(delayMs, fire);
  }
}

describe('a link on a WebSocket', () => {
  let server: WebSocketServer;
  let socket: Socket;
  let peer: WebSocket;
  let clock: CountingClock;
  let call: WebSocketCall;
  let log: LinkLog;

  beforeEach(async () => {
    server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    clock = new CountingClock();
    log = new LinkLog();
    server.once('connection', (webSocket, request: { socket: Socket }) => {
      socket = request.socket;
      call = new WebSocketCall({ peer: { path: 'eu:kid', role: 'agent' }, transport: 'websocket', clock, socket });
      call.opened(webSocket);
      call.link.start(log);
    });
    peer = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await once(peer, 'open');
  });
  afterEach(() => {
    peer.terminate();
    for (const client of server.clients) client.terminate();
    server.close();
  });

  it('is aborted by text once, and not again by each further text in flight', async () => {
    for (let i = 0; i < 1_000; i++) peer.send('');
    const [code, reason] = (await once(peer, 'close')) as [number, Buffer];
    expect([code, String(reason)]).toEqual([brokenOff, 'Protocol: 0 bytes of text, which is no frame']);
    expect(await log.closed()).toMatchObject({ code: 'Protocol' });
    // The timers for signs of life, and for the close of the peer.
    expect(clock.timers).toBe(2);
    expect(log.order).toEqual(['close']);
  });

  it('has one time limit to close, however often it is aborted', async () => {
    for (const message of ['first', 'second']) call.link.abort(new BanyanError('Unavailable', message));
    const [, reason] = (await once(peer, 'close')) as [number, Buffer];
    expect(String(reason)).toBe('Unavailable: first');
    expect(clock.timers).toBe(2);
  });

  /** The data that the peer gets when it continues to read. */
  async function read(): Promise<{ bytes: number[]; code: number }> {
    const bytes: number[] = [];
    peer.on('message', (data: Buffer) => bytes.push(data.length));
    peer.resume();
    const [code] = (await once(peer, 'close')) as [number];
    return { bytes, code };
  }

  it('that ends in order loses no queued frame, however slowly the peer reads', async () => {
    peer.pause();
    // More than the buffers of both operating systems.
    const sizes = Array<number>(6).fill(maxFrameBytes);
    for (const size of sizes) call.link.send(dataOfFrameBytes(size));
    call.link.close('enough');
    clock.advance(50_000);
    expect(call.link.queuedBytes()).toBeGreaterThan(0);
    expect(log.closes).toEqual([]);
    expect(await read()).toEqual({ bytes: sizes, code: closedInOrder });
    expect(await log.closed()).toBe(undefined);
  });

  it('that ends in order is left to TCP when everything has been sent, even if the peer is silent', async () => {
    peer.pause();
    call.link.send(beat(1));
    await expect.poll(() => call.link.queuedBytes()).toBe(0);
    call.link.close('enough');
    clock.advance(50_000);
    expect(await log.closed()).toBe(undefined);
    expect(socket.destroyed).toBe(false);
    expect(await read()).toMatchObject({ bytes: [expect.any(Number)], code: closedInOrder });
    await expect.poll(() => socket.destroyed).toBe(true);
  });
});
