import { describe, expect, it } from 'vitest';
import type { ApiRequest } from '../../../../core/apiserver/http/requests.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import type { Endpoint } from '../../../../core/stream/router.ts';
import { StreamCounts } from '../../../../core/stream/stream-counts.ts';
import { nodeStreams } from '../../../../relay/remote-access/streams.ts';
import { treeUrls } from '../../../../relay/remote-access/tree-urls.ts';

const admin = { name: 'admin', groups: ['system:masters'] };

function node(path: string, options: { notReady?: string; known?: readonly string[]; silentMs?: number } = {}) {
  const clock = new VirtualClock();
  const router = nodeStreams({
    path,
    software: '1.2.3',
    clock,
    observer: new StreamCounts(),
    fromBelow: false,
    refusal: () => undefined,
    notReady: () => options.notReady,
    knows: (child) => options.known?.includes(child) ?? false,
    child: () => undefined,
    connection: () => ({
      connected: false,
      silentMs: 0,
      heardAtMs: options.silentMs === undefined ? undefined : clock.wallMs() - options.silentMs,
    }),
    parent: () => (path === '' ? 'none' : undefined),
  });
  const urls = treeUrls(path, router, clock);
  const ask = (url: string, request: Partial<ApiRequest> = {}) => {
    const { pathname, searchParams: query } = new URL(`https://node${url}`);
    const body = () => Promise.resolve(Buffer.alloc(0));
    const readLongYaml = () => Promise.reject(new Error('no YAML is sent here'));
    const asked = {
      method: 'GET',
      path: pathname,
      query,
      headers: {},
      user: admin,
      alsoMay: () => {},
      mustRead: () => {},
      body,
      readLongYaml,
    };
    return urls.answer({ ...asked, ...request });
  };
  return { router, ask, clock, way: (target: string) => urls.way(target, admin)?.target };
}

const read = ({ body }: { body: Buffer }) => JSON.parse(body.toString()) as Record<string, unknown>;

describe('a request for a node of the tree', () => {
  it('is answered with the node’s identity, its readiness, and the round trip', async () => {
    const { ask } = node('');
    const answer = await ask('/tree/center/healthz');
    expect(answer.status).toBe(200);
    expect(read(answer)).toEqual({
      path: '',
      role: 'center',
      version: '1.2.3',
      ready: true,
      roundTripMs: expect.any(Number),
    });
  });

  it('is answered with the reason why the node is not ready', async () => {
    const { ask } = node('eu', { notReady: 'waits for its parent' });
    expect(read(await ask('/tree/eu/healthz'))).toMatchObject({
      role: 'relay',
      ready: false,
      notReady: 'waits for its parent',
    });
  });

  it('carries bytes there and back', async () => {
    const { ask } = node('eu');
    expect(read(await ask('/tree/eu/echo?bytes=300000'))).toMatchObject({
      echo: { bytes: 300_000, ms: expect.any(Number) },
    });
  });

  it.each([
    ['a child that is not there', '/tree/x/healthz', {}, 'NotFound', 'center: there is no child x'],
    [
      'a child that is away',
      '/tree/kid/healthz',
      {},
      'Unavailable',
      'center: the child kid is not connected, for 42 s (Disconnected)',
    ],
    ['a path that is none', '/tree/a::b/healthz', {}, 'BadRequest', "the stream's path is"],
    ['no node', '/tree/', {}, 'NotFound', 'there is nothing'],
    ['a name that is no text', '/tree/%E0%A4%A/healthz', {}, 'BadRequest', 'malformed'],
    ['another verb', '/tree/center/healthz', { method: 'POST' }, 'MethodNotAllowed', 'POST'],
    ['no bytes', '/tree/center/echo', {}, 'BadRequest', 'bytes: Invalid value'],
    ['too many bytes', '/tree/center/echo?bytes=9999999999', {}, 'BadRequest', 'must be 1 to'],
    ['bytes that are no number', '/tree/center/echo?bytes=x', {}, 'BadRequest', 'must be an integer'],
    ['no time', '/tree/center/healthz?timeoutSeconds=0', {}, 'BadRequest', 'timeoutSeconds'],
  ])('for %s is refused with a message', async (_, url, request, code, messagePart) => {
    const error = await node('', { known: ['kid'], silentMs: 42_000 })
      .ask(url, request)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BanyanError);
    expect(error).toMatchObject({ code, message: expect.stringContaining(messagePart) });
  });

  it('for a child that has never been there says so', async () => {
    const error = await node('', { known: ['kid'] })
      .ask('/tree/kid/healthz')
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: expect.stringContaining('center: the child kid has never connected (Disconnected)'),
    });
  });

  it.each([
    ['/tree/eu:paris/api/v1/pods?watch=1&a=%2F', '/api/v1/pods?watch=1&a=%2F'],
    ['/tree/eu%3Aparis/spaces/retail/api', '/spaces/retail/api'],
    ['/tree/eu:paris:shop/cluster', '/'],
    ['/tree/eu:paris:shop/cluster?timeout=1s', '/?timeout=1s'],
    ['/tree/eu:paris:shop/cluster/apis/apps/v1', '/apis/apps/v1'],
    ['/tree/eu:paris:shop/clusters', '/clusters'],
    ['/tree/eu', '/'],
    ['/tree/eu/healthz', undefined],
    ['/tree/eu/echo?bytes=1', undefined],
  ])('for %s reaches %s', (url, there) => {
    expect(node('').way(url)).toBe(there);
  });

  it('goes up while there is a parent, and reports a missing parent', async () => {
    await expect(node('eu').ask('/tree/us/healthz')).rejects.toMatchObject({
      code: 'Unavailable',
      message: 'eu: the parent is not connected (Disconnected)',
    });
  });

  it.each<[string, Endpoint, string]>([
    ['takes the stream and says nothing', (offer) => void offer.accept(silent), 'Timeout'],
    ['says something else', (offer) => offer.accept(silent).write(Buffer.from('hello')), 'Timeout'],
    [
      'answers garbage',
      (offer) => {
        const stream = offer.accept(silent);
        stream.write(Buffer.from('<html>'));
        stream.end();
      },
      'Protocol',
    ],
    [
      'never stops talking',
      (offer) => {
        const stream = offer.accept({ ...silent, onWritten: () => stream.write(Buffer.alloc(10_000)) });
        stream.write(Buffer.alloc(10_000));
      },
      'Protocol',
    ],
  ])('fails with the reason when a node %s', async (_, endpoint, code) => {
    const { router, ask, clock } = node('eu');
    router.register('health', endpoint);
    const failed = expect(ask('/tree/eu/healthz?timeoutSeconds=1')).rejects.toMatchObject({ code });
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    clock.advance(1_000);
    await failed;
  });

  it('fails if other bytes come back than were sent', async () => {
    const { router, ask } = node('eu');
    router.register('echo', (offer) => {
      const stream = offer.accept({
        ...silent,
        onData: (bytes) => {
          stream.consumed(bytes.length);
          stream.write(Buffer.from(bytes).fill(0, 0, 1));
        },
        onEnd: () => stream.end(),
      });
    });
    const error = ask('/tree/eu/echo?bytes=200000');
    await expect(error).rejects.toMatchObject({
      code: 'Protocol',
      message: expect.stringContaining('other ones came back'),
    });
  });
});

const silent = { onData() {}, onWritten() {}, onEnd() {}, onClosed() {} };
