import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, get } from 'node:https';
import { type AddressInfo, createServer, Server } from 'node:net';
import { json } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import type { ApiTls } from '../../../../../core/apiserver/http/https-listener.ts';
import { aheadBytesMax, watchBytesMax } from '../../../../../core/apiserver/http/outgoing.ts';
import { createAuthority, issueNode } from '../../../../../core/identity/authority.ts';
import { systemClock, VirtualClock } from '../../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../../core/runtime/random.ts';
import { ApiBench, answerOf, tls } from './api-bench.ts';

const configMaps = '/api/v1/namespaces/shop/configmaps';

describe('the server', () => {
  it('tells everybody whether it is alive and ready', async () => {
    await using api = await ApiBench.start({ certificate: false, notReady: () => 'waiting for the parent' });
    for (const path of ['/healthz', '/livez']) {
      expect(await api.call('GET', path)).toMatchObject({ status: 200, text: 'ok' });
    }
    expect(await api.call('GET', '/readyz')).toMatchObject({ status: 503, text: 'waiting for the parent' });
  });

  it('shows a renewed certificate to new connections, and keeps the open ones', async () => {
    let present: ApiTls | undefined;
    await using api = await ApiBench.start({ renewed: () => present });
    expect((await api.call('GET', '/healthz')).status).toBe(200);
    const issuing = { clock: systemClock, random: systemRandom };
    const authority = await createAuthority('renewed', issuing);
    const node = { tree: 'renewed', role: 'center', path: '', hosts: ['127.0.0.1'] } as const;
    const { certPem, keyPem } = await issueNode(authority, node, issuing);
    present = { ca: Buffer.from(authority.certPem), cert: Buffer.from(certPem), key: Buffer.from(keyPem) };
    const [host, port] = new URL(api.url).host.split(':');
    const shown = connectTls({ host, port: Number(port), ca: present.ca });
    await once(shown, 'secureConnect');
    expect(shown.getPeerCertificate().subjectaltname).toContain('spiffe://renewed/node/center');
    shown.destroy();
    expect((await api.call('GET', '/readyz')).status).toBe(200);
  });

  it('continues when connections cannot be accepted, for example for lack of descriptors, however often', async () => {
    await using api = await ApiBench.start();
    const port = Number(new URL(api.url).port);
    // Node reports them by an event of the server. The test cannot cause the event without using up all descriptors of this process.
    const open = (process as unknown as { _getActiveHandles(): object[] })._getActiveHandles();
    const isServer = (handle: object): handle is Server => handle instanceof Server;
    const server = open.filter(isServer).find((one) => (one.address() as AddressInfo | null)?.port === port);
    for (let i = 0; i < 3; i++) server!.emit('error', new Error('accept EMFILE'));
    expect((await api.call('GET', '/readyz')).status).toBe(200);
  });

  it('waits five minutes for the body of a request, with 250 requests on a connection', async () => {
    const clock = new VirtualClock();
    await using api = await ApiBench.start({ clock });
    const { ca, user } = await tls;
    const session = connectHttp2(api.url, { ca, key: user.keyPem, cert: user.certPem });
    await once(session, 'remoteSettings');
    expect(session.remoteSettings.maxConcurrentStreams).toBe(250);
    const asked = session.request({ ':method': 'POST', ':path': configMaps }).on('error', () => {});
    const answer = answerOf(asked);
    const closed = new Promise<void>((resolve) => asked.once('close', () => resolve()));
    asked.write('{');
    const settled = () => new Promise<void>((resolve) => session.ping(() => resolve()));
    await settled();
    clock.advance(299_999);
    await settled();
    expect(asked.closed).toBe(false);
    clock.advance(1);
    expect((await answer).status).toBe(504);
    await closed;
    session.destroy();
  });

  it('serves its metrics to known users', async () => {
    await using api = await ApiBench.start();
    expect(await api.call('GET', '/metrics')).toMatchObject({
      status: 200,
      type: 'text/plain; version=0.0.4',
      text: '# none\n',
    });
    await using anonymous = await ApiBench.start({ certificate: false });
    expect((await anonymous.call('GET', '/metrics')).status).toBe(401);
  });

  it('passes on requests for other nodes, for known users', async () => {
    await using api = await ApiBench.start();
    const answer = await api.call('GET', '/tree/eu:paris/healthz?timeoutSeconds=3');
    expect([answer.status, answer.json()]).toEqual([
      200,
      { method: 'GET', path: '/tree/eu:paris/healthz', query: 'timeoutSeconds=3', user: 'jo' },
    ]);
    await using anonymous = await ApiBench.start({ certificate: false });
    expect((await anonymous.call('GET', '/tree/eu:paris/healthz')).status).toBe(401);
  });

  it('names the user who asks, and answers access reviews with yes', async () => {
    await using api = await ApiBench.start();
    const whoami = await api.call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: {} });
    expect(whoami.status).toBe(201);
    expect(whoami.json()).toMatchObject({
      kind: 'SelfSubjectReview',
      status: { userInfo: { username: 'jo', groups: ['system:masters', 'system:authenticated'] } },
    });
    const spec = { resourceAttributes: { verb: 'create', resource: 'pods' } };
    const body = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', spec };
    const mayI = await api.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { body });
    expect(mayI.json()).toMatchObject({ kind: 'SelfSubjectAccessReview', spec, status: { allowed: true } });
  });

  it('serves spaces below prefixes, also spaces that come and go', async () => {
    await using api = await ApiBench.start();
    let isThere = true;
    api.server.resolveWith((prefix) => (prefix === '/spaces/eu.ops' && isThere ? api.space : undefined));
    api.space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } });
    for (let i = 0; i < 2; i++) expect((await api.call('GET', `/spaces/eu.ops${configMaps}/a`)).status).toBe(200);
    const index = await api.call('GET', '/spaces/eu.ops/openapi/v3');
    expect(index.text).toContain('"/spaces/eu.ops/openapi/v3/api/v1?hash=');
    expect((await api.call('GET', `/spaces/us.ops${configMaps}`)).status).toBe(404);
    expect((await api.call('GET', `/mailboxes/eu.ops${configMaps}`)).status).toBe(404);
    isThere = false;
    expect((await api.call('GET', `/spaces/eu.ops${configMaps}/a`)).status).toBe(404);
  });

  it('treats a path that begins with two slashes as a path', async () => {
    await using api = await ApiBench.start();
    expect((await api.call('GET', '//version')).status).toBe(200);
  });

  it('speaks HTTP/1.1 too, and closes idle connections at its end', async () => {
    const api = await ApiBench.start();
    const { ca, user } = await tls;
    const agent = new Agent({ keepAlive: true, ca, key: user.keyPem, cert: user.certPem });
    const [response] = (await once(get(`${api.url}${configMaps}`, { agent }), 'response')) as [IncomingMessage];
    expect(response).toMatchObject({ httpVersion: '1.1', statusCode: 200 });
    // As long as clients keep a connection, so that none is closed while a request is written on it.
    expect(response.headers['keep-alive']).toBe('timeout=90');
    expect(await json(response)).toMatchObject({ kind: 'ConfigMapList', items: [] });
    await api[Symbol.asyncDispose]();
    await expect(once(get(`${api.url}/healthz`, { agent }), 'response')).rejects.toThrow(
      /hang up|ECONNREFUSED|ECONNRESET/,
    );
  });

  it('closes an HTTP/2 connection without requests', async () => {
    const clock = new VirtualClock();
    const api = await ApiBench.start({ clock });
    const { ca } = await tls;
    const anybody = connectHttp2(api.url, { ca });
    await new Promise<void>((resolve) => anybody.once('remoteSettings', () => resolve()));
    clock.advance(180_000);
    await once(anybody, 'close');
    const ended = api[Symbol.asyncDispose]();
    clock.advance(1_000);
    await ended;
  });

  it('closes a connection that asks for another protocol before the previous answer, and no other connection', async () => {
    await using api = await ApiBench.start({ certificate: false });
    const [host, port] = new URL(api.url).host.split(':');
    const socket = connectTls({ host, port: Number(port), rejectUnauthorized: false }).on('error', () => {});
    const second = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
    socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n${second}`);
    await once(socket.resume(), 'close');
    expect((await api.call('GET', '/healthz')).status).toBe(200);
  });

  it('sends the head of a watch before its first event, over HTTP/1.1 too', async () => {
    await using api = await ApiBench.start();
    const { ca, user } = await tls;
    const asked = get(`${api.url}${configMaps}?watch=true`, { ca, key: user.keyPem, cert: user.certPem });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect(response).toMatchObject({ httpVersion: '1.1', statusCode: 200 });
    asked.on('error', () => {}).destroy();
  });

  it('names the port that it cannot use', async () => {
    const taken = createServer();
    const port = await new Promise<number>((done) => {
      taken.listen(0, '127.0.0.1', () => {
        const address = taken.address();
        done(typeof address === 'object' && address ? address.port : 0);
      });
    });
    try {
      await expect(ApiBench.start({ port })).rejects.toThrow(
        `can't listen on 127.0.0.1:${port} (EADDRINUSE): free the port or choose another`,
      );
    } finally {
      taken.close();
    }
  });
});

describe('a list over the wire', () => {
  it('keeps little memory for clients that do not read, over both HTTP versions, and is complete for clients that read', async () => {
    await using api = await ApiBench.start();
    const data = { text: 'x'.repeat(100_000) };
    for (let i = 0; i < 200; i++) {
      api.space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${i}`, namespace: 'shop' }, data });
    }
    const { ca, user } = await tls;
    const [host, port] = new URL(api.url).host.split(':');
    const sockets = Array.from({ length: 20 }, () => {
      const socket = connectTls({ host, port: Number(port), ca, key: user.keyPem, cert: user.certPem });
      socket.on('error', () => {}).write(`GET ${configMaps} HTTP/1.1\r\nHost: x\r\n\r\n`);
      return socket;
    });
    const streams = Array.from({ length: 20 }, () => api.open('GET', configMaps, {}, true));
    await Promise.all([
      ...sockets.map((socket) => once(socket, 'readable')),
      ...streams.map((stream) => once(stream, 'response')),
    ]);
    expect(api.server.unreadBytes()).toBeLessThan(40 * 2 * aheadBytesMax);
    const list = JSON.parse((await answerOf(streams[0]!)).text) as { items: unknown[] };
    expect(list.items).toHaveLength(200);
    for (const socket of sockets) socket.destroy();
    for (const stream of streams) stream.on('error', () => {}).destroy();
  });

  it('is refused while too much data waits on its connection, and the client is told when to retry', async () => {
    await using api = await ApiBench.start();
    const data = { text: 'x'.repeat(1_000_000) };
    api.space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'shop' }, data });
    const streams = Array.from({ length: 10 }, () => api.open('GET', `${configMaps}/c`, {}, true));
    const heads = await Promise.all(streams.map(async (stream) => (await once(stream, 'response')) as [object]));
    expect(heads.at(-1)![0]).toMatchObject({ ':status': 429, 'retry-after': '1' });
    for (const stream of streams) stream.resume();
    await Promise.all(streams.map((stream) => once(stream, 'close')));
    expect((await api.call('GET', `${configMaps}/c`)).status).toBe(200);
  });
});

describe('a watch over the wire', () => {
  it('sends each event as it happens, a line each', async () => {
    await using api = await ApiBench.start();
    const stream = api.open('GET', `${configMaps}?watch=true`, {}, true);
    const lines = eventsOf(stream);
    for (const name of ['a', 'b']) {
      api.space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' } });
      expect(await lines.next()).toMatchObject({ value: { type: 'ADDED', object: { metadata: { name } } } });
    }
    stream.close();
  });

  it('may begin with more data than the client’s buffer limit, over HTTP/1.1 too', async () => {
    await using api = await ApiBench.start();
    const data = { text: 'x'.repeat(1_000_000) };
    const objects = watchBytesMax / 1_000_000 + 2;
    for (let i = 0; i < objects; i++) {
      api.space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${i}`, namespace: 'shop' }, data });
    }
    const url = `${configMaps}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
    const { ca, user } = await tls;
    const asked = get(`${api.url}${url}`, { ca, key: user.keyPem, cert: user.certPem });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    for (const stream of [response, api.open('GET', url, {}, true)]) {
      const types: unknown[] = [];
      for await (const event of eventsOf(stream)) {
        types.push((event as { type: string }).type);
        if (types.at(-1) === 'BOOKMARK') break;
      }
      expect(types).toEqual([...Array.from({ length: Math.ceil(objects) }, () => 'ADDED'), 'BOOKMARK']);
    }
    asked.on('error', () => {}).destroy();
  });

  it('ends with the server, in order', async () => {
    const api = await ApiBench.start();
    const stream = api.open('GET', `${configMaps}?watch=true&allowWatchBookmarks=true`, {}, true);
    const ended = answerOf(stream);
    await once(stream, 'response');
    await api[Symbol.asyncDispose]();
    expect(await ended).toMatchObject({ status: 200, text: '' });
    expect({ aborted: stream.aborted, code: stream.rstCode }).toEqual({ aborted: false, code: 0 });
  });
});

async function* eventsOf(stream: AsyncIterable<Buffer>): AsyncGenerator<unknown> {
  let text = '';
  for await (const chunk of stream) {
    text += chunk;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      yield JSON.parse(text.slice(0, end)) as unknown;
      text = text.slice(end + 1);
    }
  }
}
