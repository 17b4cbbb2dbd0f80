/** A peer that connects to a listener and never gets a session is counted once, by its reason. */
import { once } from 'node:events';
import { type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect as tcpConnect } from 'node:net';
import { type ConnectionOptions, connect as tlsConnect } from 'node:tls';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { encodeFrame } from '../../../../core/wire/codec/frames.ts';
import { sessionMethod, streamMethod } from '../../../../core/wire/grpc/session-method.ts';
import { joinPath } from '../../../../core/wire/join-messages.ts';
import type { Listener } from '../../../../core/wire/link.ts';
import { listenMesh } from '../../../../core/wire/network/mesh-listener.ts';
import type { NodeCredentials } from '../../../../core/wire/node-credentials.ts';
import { sessionPath, streamPath } from '../../../../core/wire/websocket/websocket-messages.ts';
import { beat, LinkLog } from '../../../support/link-log.ts';
import { TestTree } from '../../../support/test-tree.ts';

let own: NodeCredentials;
let kid: NodeCredentials;
let foreign: NodeCredentials;
beforeAll(async () => {
  const tree = await TestTree.create();
  [own, kid] = await Promise.all([tree.credentials('eu', 'relay'), tree.credentials('eu:kid', 'agent')]);
  foreign = await (await TestTree.create()).credentials('eu:kid', 'agent');
});

let listener: Listener;
let counted: string[];
let wake: () => void;
let accepts: boolean;
beforeEach(() => {
  counted = [];
  wake = () => {};
  accepts = true;
});
afterEach(() => listener[Symbol.asyncDispose]());

async function listen(terminatedTls = false): Promise<void> {
  const accept = () => {
    if (!accepts) throw new Error('counted by who refuses');
    return new LinkLog();
  };
  const refused = (refusal: string) => {
    counted.push(refusal);
    wake();
  };
  const where = { host: '127.0.0.1', port: 0, credentials: own };
  listener = await listenMesh({ ...where, accept, refused, terminatedTls, log: silentLogger });
}

const place = () => ({ host: '127.0.0.1', port: Number(listener.address.split(':')[1]), rejectUnauthorized: false });
const shown = (of?: NodeCredentials): ConnectionOptions => (of ? { cert: of.certPem, key: of.keyPem } : {});

/** Resolves when something was counted, and the listener has finished all of its connections. */
async function counts(): Promise<string[]> {
  await new Promise<void>((resolve) => {
    wake = resolve;
    if (counted.length > 0) resolve();
  });
  await listener[Symbol.asyncDispose]();
  return counted;
}

/** One call, until it is over; `talk` is called when the parent has accepted it. */
async function calls(
  of?: NodeCredentials,
  path = sessionMethod,
  talk?: (call: ClientHttp2Stream) => void,
): Promise<void> {
  const session = connectHttp2(`https://${listener.address}`, { ...place(), ...shown(of) });
  session.on('error', () => {});
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
  const call = session.request(headers).on('error', () => {});
  if (talk) call.once('response', () => talk(call));
  await new Promise<void>((resolve) => call.resume().once('end', () => resolve()));
  session.destroy();
}

async function upgrades(path: string, of?: NodeCredentials): Promise<void> {
  const socket = tlsConnect({ ...place(), ...shown(of) }).on('error', () => {});
  const names = 'Connection: Upgrade\r\nUpgrade: websocket\r\nbanyan-link: none\r\nbanyan-stream: 1';
  socket.write(`GET ${path} HTTP/1.1\r\nHost: eu\r\n${names}\r\n\r\n`);
  await once(socket.resume(), 'close');
}

const speaksNoTls = () => once(tcpConnect(place()).end('no TLS').resume(), 'close');

const frame = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, 0, bytes.length]), bytes]);

it.each<[string, string, () => Promise<unknown>]>([
  ['tls', 'speaks no TLS', speaksNoTls],
  ['certificate', 'has no certificate, over gRPC', () => calls()],
  ['certificate', 'has one of another tree, over gRPC', () => calls(foreign)],
  ['certificate', 'has no certificate, over WebSocket', () => upgrades(sessionPath)],
  ['certificate', 'has one of another tree, over WebSocket', () => upgrades(sessionPath, foreign)],
  ['no_session', 'asks for something else, over WebSocket', () => upgrades('/other', kid)],
  ['stream', 'has no such session, over gRPC', () => calls(kid, streamMethod)],
  ['stream', 'has no such session, over WebSocket', () => upgrades(streamPath, kid)],
])('counts as %s a peer that %s', async (refusal, _what, connects) => {
  await listen();
  await connects();
  expect(await counts()).toEqual([refusal]);
});

it('counts a silent peer as no_session', async () => {
  await listen();
  const socket = tlsConnect({ ...place(), ...shown(kid), ALPNProtocols: ['h2'] });
  await once(socket, 'data');
  socket.destroy();
  expect(await counts()).toEqual(['no_session']);
});

it('counts a refused certificate request as join', async () => {
  await listen();
  const request = httpsRequest({ ...place(), path: joinPath, method: 'POST', agent: false }).end('{}');
  const [response] = await once(request, 'response');
  await once(response.resume(), 'end');
  expect(await counts()).toEqual(['join']);
});

it('leaves it to the acceptor of links to count the links that it refuses', async () => {
  accepts = false;
  await listen();
  await calls(kid);
  await upgrades(sessionPath, kid);
  await speaksNoTls();
  expect(await counts()).toEqual(['tls']);
});

it.each<[string, string, (call: ClientHttp2Stream) => void]>([
  ['proof', 'proves nothing', (call) => void call.write(frame(encodeFrame(beat(1))))],
  ['no_hello', 'says nothing', (call) => void call.end()],
])('counts as %s a peer that %s where TLS is terminated', async (refusal, _what, talk) => {
  await listen(true);
  await calls(undefined, sessionMethod, talk);
  expect(await counts()).toEqual([refusal]);
});
