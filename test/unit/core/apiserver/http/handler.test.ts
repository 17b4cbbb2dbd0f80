import { beforeEach, describe, expect, it } from 'vitest';
import { ViewStorage } from '../../../../../core/apiserver/storage/view.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { boards } from '../crd/support.ts';
import { HandlerBench } from './handler-bench.ts';
import { refusalOf } from './handler-errors.ts';

const configMaps = '/api/v1/namespaces/shop/configmaps';
const deployments = '/apis/apps/v1/namespaces/shop/deployments';
const apply = { 'content-type': 'application/apply-patch+yaml' };
const merge = { 'content-type': 'application/merge-patch+json' };

let api: HandlerBench;
beforeEach(() => {
  api = new HandlerBench();
});

function configMap(name: string, data: Record<string, string> = { a: 'x' }): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data };
}

function deployment(name: string): KubeObject {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx' }] } };
  const spec = { replicas: 2, selector: { matchLabels: labels }, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'shop' }, spec };
}

/** The stored object as clients see it: a ConfigMap has no generation. */
const stored = (object: KubeObject) => {
  const found = api.space.get(api.space.keyOf(object));
  delete found?.metadata.generation;
  return found;
};
const revision = () => api.space.storage.revision();

describe('create', () => {
  it('answers 201 with the object as it is stored', async () => {
    const { status, json } = await api.call('POST', configMaps, { body: configMap('a') });
    expect(status).toBe(201);
    expect(json()).toEqual(stored(configMap('a')));
  });

  it('takes the kind and the namespace from the URL if the body has none', async () => {
    await api.call('POST', configMaps, { body: { metadata: { name: 'a' }, data: { a: 'x' } } });
    expect(stored(configMap('a'))).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', data: { a: 'x' } });
  });

  it('does everything except the write in a dry run', async () => {
    const before = revision();
    const { status, json } = await api.call('POST', `${configMaps}?dryRun=All`, { body: configMap('a') });
    expect(status).toBe(201);
    expect(json<KubeObject>().metadata.uid).toBeDefined();
    expect(revision()).toBe(before);
  });

  it('warns of unknown fields, unless the client ignores them', async () => {
    const body = { ...configMap('a'), dta: {} };
    const { headers } = await api.call('POST', configMaps, { body });
    expect(headers.warning).toEqual(['299 - "unknown field \\"dta\\""']);
    const ignoring = { body: { ...body, metadata: { name: 'b' } } };
    const ignored = await api.call('POST', `${configMaps}?fieldValidation=Ignore`, ignoring);
    expect(ignored.headers).not.toHaveProperty('warning');
  });

  it('warns of a field that its JSON repeats, and uses the last value', async () => {
    const body = '{"metadata":{"name":"a"},"data":{"a":"x","b":"y","a":"z"}}';
    const { headers } = await api.call('POST', configMaps, { body: Buffer.from(body) });
    expect(headers.warning).toEqual(['299 - "duplicate field \\"data.a\\""']);
    expect(stored(configMap('a'))).toMatchObject({ data: { a: 'z', b: 'y' } });
    const ignoring = { body: Buffer.from(body.replace('"a"', '"b"')) };
    const ignored = await api.call('POST', `${configMaps}?fieldValidation=Ignore`, ignoring);
    expect(ignored.headers).not.toHaveProperty('warning');
  });

  it('keeps its warnings within the size of a header, whatever the names of fields', async () => {
    const unknown = [
      '\u6f22',
      '\n',
      '\u007f',
      'x'.repeat(10_000),
      ...Array.from({ length: 1000 }, (_, i) => `field${i}`),
    ];
    const body = { ...configMap('a'), ...Object.fromEntries(unknown.map((name) => [name, 1])) };
    const { headers } = await api.call('POST', configMaps, { body });
    const warnings = [headers.warning ?? []].flat();
    expect(warnings.slice(0, 3)).toEqual([
      '299 - "unknown field \\"\\u6f22\\""',
      '299 - "unknown field \\"\\n\\""',
      '299 - "unknown field \\"\\u007f\\""',
    ]);
    expect(warnings.join('')).toMatch(/^[\x20-\x7e]+$/);
    expect(warnings.join('').length).toBeLessThan(8_192);
    expect(warnings.length).toBeGreaterThan(50);
  });

  it('records the field manager, or the program that sent the request', async () => {
    const managerOf = async (url: string, headers: Record<string, string>) => {
      const { json } = await api.call('POST', url, {
        body: { metadata: { generateName: 'a' }, data: { a: 'x' } },
        headers,
      });
      return json<KubeObject>().metadata.managedFields?.[0]?.manager;
    };
    const headers = { 'user-agent': 'kubectl/v1.33.0 (linux/amd64)' };
    expect(await managerOf(configMaps, headers)).toBe('kubectl');
    expect(await managerOf(`${configMaps}?fieldManager=helm`, headers)).toBe('helm');
  });

  it('answers only when the write is durable', async () => {
    const order: string[] = [];
    const { storage } = api.space;
    const flushed = storage.flushed.bind(storage);
    storage.flushed = async () => {
      order.push('flush');
      await flushed();
    };
    for (const [method, url, body] of [
      ['POST', configMaps, configMap('a')],
      ['PUT', `${configMaps}/a`, configMap('a', {})],
      ['DELETE', `${configMaps}/a`, {}],
      ['DELETE', configMaps, {}],
    ] as const) {
      await api.call(method, url, { body });
      order.push(method);
    }
    expect(order).toEqual(['flush', 'POST', 'flush', 'PUT', 'flush', 'DELETE', 'flush', 'DELETE']);
  });

  it('takes YAML', async () => {
    const body = Buffer.from('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {on: "yes"}\n');
    await api.call('POST', configMaps, { body, headers: { 'content-type': 'application/yaml; charset=utf-8' } });
    expect(stored(configMap('a'))?.data).toEqual({ on: 'yes' });
  });
});

describe('update and patch', () => {
  it('answer 200 with the object as it is stored', async () => {
    await api.call('POST', configMaps, { body: configMap('a') });
    const put = await api.call('PUT', `${configMaps}/a`, { body: configMap('a', { b: 'y' }) });
    expect(put.status).toBe(200);
    expect(put.json()).toEqual(stored(configMap('a')));
    const patched = await api.call('PATCH', `${configMaps}/a`, { body: { data: { c: 'z' } }, headers: merge });
    expect(patched.status).toBe(200);
    expect(patched.json()).toEqual(stored(configMap('a')));
    expect(stored(configMap('a'))?.data).toEqual({ b: 'y', c: 'z' });
  });

  it('of the status change nothing else, and the other way round', async () => {
    await api.call('POST', deployments, { body: deployment('a') });
    const body = { ...deployment('a'), spec: {}, status: { replicas: 2 } };
    await api.call('PUT', `${deployments}/a/status`, { body });
    expect(stored(body)).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 2 } });
    const rest = { spec: { replicas: 5 }, status: { replicas: 7 } };
    await api.call('PATCH', `${deployments}/a`, { body: rest, headers: merge });
    expect(stored(body)).toMatchObject({ spec: { replicas: 5 }, status: { replicas: 2 } });
  });

  it('of a scale answer with a Scale', async () => {
    await api.call('POST', deployments, { body: deployment('a') });
    const got = await api.get<KubeObject>(`${deployments}/a/scale`);
    expect(got).toMatchObject({ kind: 'Scale', apiVersion: 'autoscaling/v1', spec: { replicas: 2 } });
    const body = { ...got, spec: { replicas: 3 } };
    expect((await api.call('PUT', `${deployments}/a/scale`, { body })).json()).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 3 },
    });
    const patch = { body: { spec: { replicas: 4 } }, headers: merge };
    expect((await api.call('PATCH', `${deployments}/a/scale`, patch)).json()).toMatchObject({ spec: { replicas: 4 } });
    expect(stored(deployment('a'))?.spec).toMatchObject({ replicas: 4 });
  });

  it('of a scale take no Deployment', async () => {
    await api.call('POST', deployments, { body: deployment('a') });
    const { code, message } = await refusalOf(api.call('PUT', `${deployments}/a/scale`, { body: deployment('a') }));
    expect(code).toBe('BadRequest');
    expect(message).toBe(
      'Deployment in version "v1" cannot be handled as a Scale: converting (v1.Deployment) to (autoscaling.Scale): unknown conversion',
    );
  });
});

describe('server-side apply', () => {
  it('answers 201 when it creates and 200 when it changes', async () => {
    const url = `${configMaps}/a?fieldManager=jo`;
    const sent = { body: configMap('a'), headers: apply };
    expect((await api.call('PATCH', url, sent)).status).toBe(201);
    expect((await api.call('PATCH', url, sent)).status).toBe(200);
  });

  it('names the fields of other managers that it would change, and takes them by force', async () => {
    await api.call('PATCH', `${configMaps}/a?fieldManager=jo`, { body: configMap('a'), headers: apply });
    const sent = { body: configMap('a', { a: 'mine' }), headers: apply };
    const { code, details } = await refusalOf(api.call('PATCH', `${configMaps}/a?fieldManager=al`, sent));
    expect(code).toBe('Conflict');
    expect(details.causes).toMatchObject([{ reason: 'FieldManagerConflict', field: '.data.a' }]);
    await api.call('PATCH', `${configMaps}/a?fieldManager=al&force=true`, sent);
    expect(stored(configMap('a'))?.data).toEqual({ a: 'mine' });
  });
});

describe('delete', () => {
  it('answers with a Status for a removed object', async () => {
    const { metadata } = api.space.create(configMap('a'));
    const { status, json } = await api.call('DELETE', `${configMaps}/a`);
    expect(status).toBe(200);
    const details = { name: 'a', kind: 'configmaps', uid: metadata.uid };
    expect(json()).toEqual({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
    expect(stored(configMap('a'))).toBeUndefined();
  });

  it('answers with the object if it waits for its finalizers', async () => {
    const object = configMap('a');
    object.metadata.finalizers = ['example.com/hold'];
    api.space.create(object);
    const { json } = await api.call('DELETE', `${configMaps}/a`);
    expect(json<KubeObject>().metadata.deletionTimestamp).toBe('2023-11-14T22:13:20Z');
    expect(json()).toEqual(stored(object));
  });

  it.each([
    ['in its body', '', { propagationPolicy: 'Foreground' }],
    ['in its URL', '?propagationPolicy=Foreground', undefined],
  ])('accepts a propagation policy %s', async (_, query, body) => {
    api.space.create(configMap('a'));
    await api.call('DELETE', `${configMaps}/a${query}`, body ? { body } : {});
    expect(stored(configMap('a'))?.metadata.finalizers).toEqual(['foregroundDeletion']);
  });

  it.each([
    ['in its body', '', { dryRun: ['All'] }],
    ['in its URL', '?dryRun=All', undefined],
  ])('accepts a dry run %s', async (_, query, body) => {
    api.space.create(configMap('a'));
    const { json } = await api.call('DELETE', `${configMaps}/a${query}`, body ? { body } : {});
    expect(json()).toMatchObject({ kind: 'ConfigMap' });
    expect(stored(configMap('a'))).toBeDefined();
  });

  it('of a collection lets others work after each hundred objects', async () => {
    for (let i = 0; i < 250; i++) api.space.create(configMap(`m${i}`));
    const left: number[] = [];
    const turn = async () => void left.push(api.space.storage.count({ group: '', resource: 'configmaps' }));
    const received = await api.call('DELETE', configMaps, { turn });
    expect(received.json<{ items: object[] }>().items).toHaveLength(250);
    // The objects are counted first, and deleted then.
    expect(left).toEqual([250, 250, 200, 100, 0]);
  });

  it('of a collection removes the selected objects of the namespace, and lists them', async () => {
    for (const name of ['a', 'b']) api.space.create(configMap(name));
    const labelled = configMap('c');
    labelled.metadata.labels = { tier: 'web' };
    api.space.create(labelled);
    const elsewhere = configMap('c');
    elsewhere.metadata = { name: 'c', namespace: 'bank', labels: { tier: 'web' } };
    api.space.create(elsewhere);
    const { json } = await api.call('DELETE', `${configMaps}?labelSelector=tier%3Dweb`);
    expect(json()).toMatchObject({ kind: 'ConfigMapList', items: [{ metadata: { name: 'c', namespace: 'shop' } }] });
    expect([configMap('a'), configMap('b'), labelled, elsewhere].map((one) => stored(one) !== undefined)).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });
});

describe('a missing thing', () => {
  it.each(['GET', 'DELETE'])('is NotFound for %s, with resource and name', async (method) => {
    const { code, message, details } = await refusalOf(api.call(method, `${deployments}/a`));
    expect({ code, message }).toEqual({ code: 'NotFound', message: 'deployments.apps "a" not found' });
    expect(details).toEqual({ group: 'apps', kind: 'deployments', name: 'a' });
  });

  it.each(['/openapi/v2', '/openapi/v3/api/v1'])(
    'of a long document lets others work now and then: %s',
    async (url) => {
      let turns = 0;
      await api.call('GET', url, { turn: async () => void turns++ });
      expect(turns).toBeGreaterThan(3);
    },
  );

  it.each(['/apis/apps/v9/namespaces/shop/deployments', '/apis/nothing/v1', '/openapi/v3/apis/nothing/v1', '/ui'])(
    '%s is NotFound',
    async (url) => {
      expect((await refusalOf(api.get(url))).code).toBe('NotFound');
    },
  );

  it.each([
    ['POST', `${configMaps}/a`],
    ['PUT', configMaps],
    ['PATCH', configMaps],
    ['OPTIONS', configMaps],
    ['POST', '/version'],
    ['DELETE', '/apis/apps'],
  ])('%s %s is MethodNotAllowed', async (method, url) => {
    expect((await refusalOf(api.call(method, url, { body: configMap('a') }))).code).toBe('MethodNotAllowed');
  });
});

describe('a document', () => {
  const documents = ['/api', '/apis', '/apis/apps', '/apis/apps/v1'];
  it.each(documents)('%s has no form of a Table', async (url) => {
    const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
    expect((await refusalOf(api.get(url, table))).code).toBe('NotAcceptable');
    expect(await api.get(url, `${table}, application/json`)).toEqual(await api.get(url));
  });
});

describe('subresources', () => {
  it.each([
    ['PUT', 'log'],
    ['PATCH', 'nonsense'],
    ['GET', 'scale'],
    ['GET', 'log'],
    ['POST', 'exec'],
  ])('that are not served are NotFound and touch nothing: %s pods/%s', async (method, name) => {
    const spec = { containers: [{ name: 'main', image: 'nginx' }] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'shop' }, spec };
    api.space.create(pod);
    const before = revision();
    const body = { ...pod, metadata: { name: 'a', labels: { x: 'y' } } };
    const error = await refusalOf(api.call(method, `/api/v1/namespaces/shop/pods/a/${name}`, { body, headers: merge }));
    expect(error.code).toBe('NotFound');
    expect(error.message).toContain(`pods have no subresource "${name}"`);
    expect(revision()).toBe(before);
  });

  it('of a deletion are MethodNotAllowed, and the object stays', async () => {
    api.space.create(deployment('a'));
    expect((await refusalOf(api.call('DELETE', `${deployments}/a/status`))).code).toBe('MethodNotAllowed');
    expect(stored(deployment('a'))).toBeDefined();
  });

  it('of a custom kind are those that its definition names', async () => {
    api.space.create(boards({ type: 'object' }));
    api.settle();
    const board = { apiVersion: 'shop.example.com/v1', kind: 'Board', metadata: { name: 'b', namespace: 'shop' } };
    api.space.create(board);
    const url = '/apis/shop.example.com/v1/namespaces/shop/boards/b';
    expect(await api.get(url)).toMatchObject({ kind: 'Board' });
    expect((await refusalOf(api.get(`${url}/status`))).code).toBe('NotFound');
  });

  it('finalize exists for a Namespace, for PUT', async () => {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bank' }, spec: { finalizers: [] } };
    expect((await api.call('PUT', '/api/v1/namespaces/bank/finalize', { body })).json()).toMatchObject({ spec: {} });
    expect((await refusalOf(api.get('/api/v1/namespaces/bank/finalize'))).code).toBe('MethodNotAllowed');
  });
});

describe('a read-only space', () => {
  const body = Buffer.from(
    '{"metadata":{"name":"a","namespace":"shop"},"apiVersion":"v1","data":{"a":"x"},"kind":"ConfigMap"}',
  );
  const key = { group: '', resource: 'configmaps', namespace: 'shop', name: 'a' };
  const source = { list: () => [{ key, body }], get: () => body };

  beforeEach(() => {
    api = new HandlerBench({ shown: new ViewStorage(source, new VirtualClock(), silentLogger) });
  });

  it('is read like any other space', async () => {
    expect(await api.get(`${configMaps}/a`)).toMatchObject({ data: { a: 'x' } });
    expect(await api.get(configMaps)).toMatchObject({ items: [{ data: { a: 'x' } }] });
  });

  it.each([
    ['POST', configMaps],
    ['PUT', `${configMaps}/a`],
    ['PATCH', `${configMaps}/a`],
    ['DELETE', `${configMaps}/a`],
    ['DELETE', configMaps],
  ])('refuses %s %s and says why', async (method, url) => {
    const { code, message } = await refusalOf(api.call(method, url, { body: configMap('a') }));
    expect(code).toBe('MethodNotAllowed');
    expect(message).toBe('retail is read-only: it shows objects of another space');
  });
});
