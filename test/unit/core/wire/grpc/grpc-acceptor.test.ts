import { once } from 'node:events';
import { type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { sessionMethod } from '../../../../../core/wire/grpc/session-method.ts';
import { listenMesh } from '../../../../../core/wire/network/mesh-listener.ts';
import { LinkLog } from '../../../../support/link-log.ts';
import { TestTree } from '../../../../support/test-tree.ts';

/** See core/wire/network/handshake-rate-limiter.ts: admitted at once, and as many as get their turn within the longest wait. */
const [atOnce, inTurn] = [100, 1_000];
const unavailable = 14;

it('makes each session on the connection of a gateway wait for the rate limiter before its challenge', async () => {
  const credentials = await (await TestTree.create()).credentials('eu', 'relay');
  const clock = new VirtualClock();
  const log = silentLogger;
  const counted: string[] = [];
  const to = { host: '127.0.0.1', port: 0, credentials, accept: () => new LinkLog(), terminatedTls: true, clock, log };
  const listener = await listenMesh({ ...to, refused: (refusal) => void counted.push(refusal) });
  // Two, because one takes at most `callsMax` calls at once.
  const gateways = [0, 1].map(() => connectHttp2(`https://${listener.address}`, { rejectUnauthorized: false }));
  for (const gateway of gateways) await new Promise<void>((resolve) => gateway.once('remoteSettings', () => resolve()));
  const waiting = new Set<ClientHttp2Stream>();
  let [challenged, turnedAway] = [0, 0];
  let check = () => {};
  const until = (is: () => boolean) =>
    new Promise<void>((resolve) => {
      check = () => is() && resolve();
      check();
    });
  const ask = (_: unknown, i: number): ClientHttp2Stream => {
    const headers = { ':method': 'POST', ':path': sessionMethod, 'content-type': 'application/grpc', te: 'trailers' };
    const call = gateways[i % gateways.length]!.request(headers).on('error', () => {});
    waiting.add(call);
    call.on('response', ({ 'grpc-status': status }) => {
      waiting.delete(call);
      if (status === undefined) challenged++;
      else if (Number(status) === unavailable) turnedAway++;
      check();
    });
    return call.resume();
  };
  Array.from({ length: atOnce + inTurn + 50 }, ask);
  await until(() => turnedAway === 50);
  expect(challenged).toBe(atOnce);
  // A connection has no better turn.
  const socket = connect(Number(listener.address.split(':')[1]), '127.0.0.1').on('error', () => {});
  await new Promise<void>((resolve) => socket.resume().once('close', () => resolve()));
  expect(counted).toEqual(Array(51).fill('handshake_rate'));
  // Nobody waits for a peer that has hung up.
  const [leaving] = waiting;
  leaving!.close();
  await new Promise<void>((resolve) => leaving!.once('close', () => resolve()));
  for (const gateway of gateways) await new Promise<void>((resolve) => gateway.ping(() => resolve()));
  clock.advance(5_000);
  await until(() => challenged === atOnce + inTurn - 1);
  expect(counted.slice(51)).toEqual(['no_session']);
  for (const gateway of gateways) gateway.destroy();
  await listener[Symbol.asyncDispose]();
});

it('ends the rest of a refused call on the connection of a gateway, and the connection when it carries nothing else', async () => {
  const credentials = await (await TestTree.create()).credentials('eu', 'relay');
  const clock = new VirtualClock();
  const to = { host: '127.0.0.1', port: 0, credentials, accept: () => new LinkLog(), terminatedTls: true, clock };
  const listener = await listenMesh({ ...to, log: silentLogger });
  const gateway = connectHttp2(`https://${listener.address}`, { rejectUnauthorized: false });
  const settled = () => new Promise<void>((resolve) => gateway.ping(() => resolve()));
  // Its half stays open, and it answers no challenge.
  const headers = { ':method': 'POST', ':path': sessionMethod, 'content-type': 'application/grpc', te: 'trailers' };
  const call = gateway.request(headers).resume();
  await once(call, 'response');
  clock.advance(10_000);
  const [{ 'grpc-status': status }] = (await once(call, 'trailers')) as [Record<string, unknown>];
  expect(Number(status)).toBe(unavailable);
  clock.advance(2_999);
  await settled();
  expect(call.closed).toBe(false);
  clock.advance(1);
  await once(call, 'close');
  await settled();
  clock.advance(9_999);
  await settled();
  clock.advance(1);
  await once(gateway, 'close');
  await listener[Symbol.asyncDispose]();
});
