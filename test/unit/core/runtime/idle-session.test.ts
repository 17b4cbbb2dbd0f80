import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { closeWhenIdle } from '../../../../core/runtime/idle-session.ts';

const clock = new VirtualClock();
const server = createServer();
server.on('stream', (stream: ServerHttp2Stream) => stream.respond());
let client: ClientHttp2Session;
let session: ServerHttp2Session;
beforeEach(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  [session] = (await once(server, 'session')) as [ServerHttp2Session];
  closeWhenIdle(session, 1_000, clock);
});
afterEach(() => {
  client.destroy();
  server.close();
});

it('closes a connection without any request', async () => {
  clock.advance(999);
  expect(session.closed).toBe(false);
  clock.advance(1);
  await once(client, 'close');
});

it('closes a connection when its last stream has been over for the idle time, and not before', async () => {
  const [first, second] = [client.request(), client.request()];
  for (const stream of [first, second]) await once(stream, 'response');
  first.destroy();
  await new Promise<void>((resolve) => client.ping(() => resolve()));
  clock.advance(10_000);
  expect(session.closed).toBe(false);
  second.destroy();
  await new Promise<void>((resolve) => client.ping(() => resolve()));
  clock.advance(999);
  expect(session.closed).toBe(false);
  clock.advance(1);
  await once(client, 'close');
});
