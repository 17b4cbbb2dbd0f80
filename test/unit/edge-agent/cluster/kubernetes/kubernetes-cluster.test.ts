import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { KubernetesCluster } from '../../../../../edge-agent/cluster/kubernetes/kubernetes-cluster.ts';

const verbs = ['get', 'list', 'watch', 'patch', 'delete'];
const resourceOf = (resource: string, kind: string) => ({
  resource,
  responseKind: { kind },
  scope: 'Namespaced',
  verbs,
});
const core = { versions: [{ version: 'v1', resources: [resourceOf('configmaps', 'ConfigMap')] }] };
const shop = {
  metadata: { name: 'shop.example' },
  versions: [{ version: 'v1', resources: [resourceOf('tills', 'Till')] }],
};
const configMap = {
  metadata: {
    name: 'prices',
    namespace: 'shop',
    uid: 'u1',
    labels: { 'banyan.io/managed': 'true' },
    annotations: { 'banyan.io/agent': 'eu:paris', 'banyan.io/source': 'center.retail' },
    managedFields: [{ manager: 'banyan', operation: 'Apply' }],
  },
};

type Answer = readonly [status: number, body: string];

const status = (code: number, reason: string): Answer => [
  code,
  JSON.stringify({ kind: 'Status', code, reason, message: `it is ${reason}` }),
];

let server: Server;
let cluster: KubernetesCluster;
/** Answers by the path of the request; other requests get the answers of a healthy cluster. */
let answers: Record<string, Answer>;
let asked: string[];

beforeEach(async () => {
  answers = {
    '/api': [200, JSON.stringify({ items: [core] })],
    '/apis': [200, JSON.stringify({ items: [shop] })],
    '/api/v1/namespaces/kube-system': [200, '{"metadata":{"uid":"one"}}'],
    '/api/v1/configmaps': [200, JSON.stringify({ items: [configMap] })],
    '/apis/shop.example/v1/tills': [200, '{"items":[]}'],
  };
  asked = [];
  server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const path = request.url!.split('?')[0]!;
    asked.push(`${request.method} ${path}`);
    const [code, body] = answers[path] ?? [404, '404 page not found\n'];
    response.writeHead(code).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cluster = new KubernetesCluster({
    store: new MemoryStore(),
    access: {
      server: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
      credentials: async () => ({}),
    },
    clock: systemClock,
    random: new SeededRandom(1),
    logger: silentLogger,
  });
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

describe('the list of the agent’s applied objects', () => {
  const key = { group: '', resource: 'configmaps', namespace: 'shop', name: 'prices' };
  const prices = { key, uid: 'u1', agent: 'eu:paris', source: 'center.retail', created: false };

  test.each([
    ['a webhook that does not answer', 500, 'InternalError'],
    ['a server behind the cluster that is down', 503, 'ServiceUnavailable'],
  ])('omits a broken resource, which it names: %s', async (_, code, reason) => {
    answers['/apis/shop.example/v1/tills'] = status(code, reason);
    expect(await cluster.applied(['eu:paris'])).toEqual({
      objects: [prices],
      unknown: [`tills.shop.example: it is ${reason}`],
    });
  });

  test('is not given if the cluster itself has stopped to answer meanwhile', async () => {
    await cluster.resourceOf('v1', 'ConfigMap');
    expect((await cluster.applied(['eu:paris'])).unknown).toEqual([]);
    answers['/apis/shop.example/v1/tills'] = status(500, 'InternalError');
    answers['/api/v1/namespaces/kube-system'] = status(500, 'InternalError');
    await expect(cluster.applied(['eu:paris'])).rejects.toThrow('it is InternalError');
  });

  test('has those of its former paths, and none of other agents', async () => {
    expect((await cluster.applied(['us:paris', 'eu:paris'])).objects).toEqual([prices]);
    expect((await cluster.applied(['us:paris'])).objects).toEqual([]);
  });

  test('has no objects that the agent may not list', async () => {
    answers['/apis/shop.example/v1/tills'] = status(403, 'Forbidden');
    expect(await cluster.applied(['eu:paris'])).toEqual({ objects: [prices], unknown: [] });
  });
});

test('an object is read in the requested version, and in the preferred one otherwise', async () => {
  const key = { group: 'shop.example', resource: 'tills', namespace: 'shop', name: 'one' };
  const path = (version: string) => `/apis/shop.example/${version}/namespaces/shop/tills/one`;
  for (const version of ['v1', 'v1beta1']) answers[path(version)] = [200, `{"apiVersion":"shop.example/${version}"}`];
  expect([await cluster.get(key), await cluster.get(key, 'v1beta1')]).toEqual([
    { apiVersion: 'shop.example/v1' },
    { apiVersion: 'shop.example/v1beta1' },
  ]);
});

describe('an object is reported as gone', () => {
  const key = { group: 'shop.example', resource: 'tills', namespace: 'shop', name: 'one' };
  const path = '/apis/shop.example/v1/namespaces/shop/tills/one';
  const definition = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/tills.shop.example';
  const gone = async () => [await cluster.get(key), await cluster.remove(key, 'Background')];

  test('if the API server says so', async () => {
    answers[path] = status(404, 'NotFound');
    expect(await gone()).toEqual([undefined, false]);
  });

  test.each([path, '/apis', '/api/v1/namespaces/kube-system'])(
    'but not if a proxy in front of it answers: %s',
    async (path) => {
      answers[path] = [404, '<html>default backend - 404</html>'];
      const refusal = { code: 'Unavailable', message: expect.stringContaining('default backend - 404') };
      await expect(cluster.get(key)).rejects.toMatchObject(refusal);
      await expect(cluster.remove(key, 'Background')).rejects.toMatchObject(refusal);
    },
  );

  test('but not if an API server that has just started does not serve a defined kind yet', async () => {
    answers['/apis'] = [200, '{"items":[]}'];
    answers[definition] = [200, '{"metadata":{}}'];
    const refusal = { code: 'Unavailable', message: expect.stringContaining('does not serve tills.shop.example now') };
    await expect(cluster.get(key)).rejects.toMatchObject(refusal);
    await expect(cluster.remove(key, 'Background')).rejects.toMatchObject(refusal);
    await expect(cluster.metadataOf(key).next()).rejects.toMatchObject(refusal);
    answers[definition] = [200, '{"metadata":{"deletionTimestamp":"now"}}'];
    expect(await gone()).toEqual([undefined, false]);
  });

  test('but not if the server of its group has not answered', async () => {
    const stale = { metadata: shop.metadata, versions: [{ version: 'v1', freshness: 'Stale' }] };
    answers['/apis'] = [200, JSON.stringify({ items: [stale] })];
    answers[definition] = status(404, 'NotFound');
    const refusal = {
      code: 'Unavailable',
      message: expect.stringContaining('the kinds that the cluster serves in shop.example'),
    };
    await expect(cluster.get(key)).rejects.toMatchObject(refusal);
    await expect(cluster.remove(key, 'Background')).rejects.toMatchObject(refusal);
    expect([...(await cluster.unknownGroups())]).toEqual([
      ['shop.example', expect.stringContaining('does not answer')],
    ]);
    expect((await cluster.applied(['eu:paris'])).unknown).toEqual([expect.stringContaining('*.shop.example: ')]);
  });

  test('together with its definition, which is seen when the kind is asked for once more', async () => {
    answers[path] = [200, '{}'];
    expect(await cluster.get(key)).toEqual({});
    delete answers[path];
    answers['/apis'] = [200, '{"items":[]}'];
    answers[definition] = status(404, 'NotFound');
    await expect(cluster.get(key)).rejects.toMatchObject({ code: 'Unavailable' });
    expect(await gone()).toEqual([undefined, false]);
    expect(await cluster.resourceOf('shop.example/v1', 'Till')).toBeUndefined();
  });
});

test('resources that the agent may not list are named in the description of the cluster, until it may', async () => {
  answers['/version'] = [200, '{}'];
  const message = 'configmaps is forbidden: cannot list';
  const refusal = { kind: 'Status', code: 403, reason: 'Forbidden', message };
  answers['/api/v1/configmaps'] = [403, JSON.stringify(refusal)];
  await new Promise<void>((refused) => {
    const events = { on() {}, synced() {}, trouble: () => refused() };
    for (const marked of [true, false]) cluster.watch({ group: '', resource: 'configmaps' }, events, { marked });
  });
  const { incomplete } = await cluster.describe();
  expect(incomplete).toMatchObject({
    reason: 'Forbidden',
    message: expect.stringMatching(/cannot list.*Give the agent/),
  });
  expect(incomplete!.message.split(message).length).toBe(2);
  answers['/api/v1/configmaps'] = [200, '{"metadata":{"resourceVersion":"1"},"items":[]}'];
  await expect.poll(async () => (await cluster.describe()).incomplete, { timeout: 5_000 }).toBeUndefined();
});

test('an object of a kind with the other scope does not exist here, and is refused with the reason', async () => {
  const key = { group: 'shop.example', resource: 'tills', namespace: '', name: 'one' };
  expect([await cluster.get(key), await cluster.remove(key, 'Background')]).toEqual([undefined, false]);
  const till = { apiVersion: 'shop.example/v1', kind: 'Till', metadata: { name: 'one' } };
  await expect(cluster.apply(till)).rejects.toMatchObject({
    code: 'Invalid',
    message:
      "on this cluster Till (tills.shop.example) is namespaced, and this object has no namespace: check the cluster's definition of Till",
  });
});

test('a cluster that does not answer reports that its description may have changed', async () => {
  let changes = 0;
  const leave = cluster.onDescription(() => changes++);
  // A part of the description that is not served yet is asked for with the next description.
  await cluster.served();
  expect(changes).toBe(0);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await expect(cluster.describe()).rejects.toMatchObject({ code: 'Unavailable' });
  expect(changes).toBeGreaterThan(0);
  leave();
});

test('an object is patched in the version that the cluster prefers, and only in its known version', async () => {
  const path = '/apis/shop.example/v1/namespaces/shop/tills/one';
  answers[path] = [200, '{}'];
  const key = { group: 'shop.example', resource: 'tills', namespace: 'shop', name: 'one' };
  const at = { uid: 'u1', resourceVersion: '7' };
  await cluster.patch(key, { metadata: { labels: { mark: null } } }, at);
  expect(asked.at(-1)).toBe(`PATCH ${path}`);
  answers[path] = status(409, 'Conflict');
  await expect(cluster.patch(key, {}, at)).rejects.toMatchObject({ code: 'Conflict' });
});
