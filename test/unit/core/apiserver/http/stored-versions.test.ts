/** Objects of a definition with a conversion webhook: the space stores them in the version in which they were written (decision 0050). */
import { beforeEach, describe, expect, it } from 'vitest';
import type { CustomResourceDefinition, SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { HandlerBench, type Received } from './handler-bench.ts';
import { refusalOf } from './handler-errors.ts';

const anything: SchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const webhook = {
  clientConfig: { service: { name: 'hook', namespace: 'net-system', path: '/convert', port: 443 }, caBundle: 'Cg==' },
  conversionReviewVersions: ['v1'],
};

interface Version {
  name: string;
  schema?: SchemaProps;
  served?: boolean;
  columns?: { name: string; type: string; jsonPath: string }[];
  scale?: string;
}

function peers(versions: readonly Version[], storage = versions[0]!.name): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'peers.net.example.com' },
    spec: {
      group: 'net.example.com',
      scope: 'Namespaced',
      names: { plural: 'peers', singular: 'peer', kind: 'Peer', listKind: 'PeerList' },
      conversion: { strategy: 'Webhook', webhook },
      versions: versions.map(({ name, schema = anything, served = true, columns, scale }) => ({
        name,
        served,
        storage: name === storage,
        schema: { openAPIV3Schema: schema },
        subresources: {
          status: {},
          ...(scale ? { scale: { specReplicasPath: scale, statusReplicasPath: '.status.replicas' } } : {}),
        },
        ...(columns ? { additionalPrinterColumns: columns } : {}),
      })),
    },
  };
}

const path = (version: string, name = '') =>
  `/apis/net.example.com/${version}/namespaces/shop/peers${name && `/${name}`}`;
const definitionPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const partial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json';

function peer(version: string, spec: object, more: object = {}): KubeObject {
  const metadata = { name: 'a', namespace: 'shop', ...more };
  return { apiVersion: `net.example.com/${version}`, kind: 'Peer', metadata, spec };
}

let api: HandlerBench;
const post = (object: KubeObject) => api.call('POST', path(object.apiVersion.split('/')[1]!), { body: object });
const get = (version: string) => api.get<KubeObject>(path(version, 'a'));
const failure = async (request: Promise<unknown>) => (await refusalOf(request)).message;
const ssa = (object: KubeObject, manager: string, force = false): Promise<Received> =>
  api.call(
    'PATCH',
    `${path(object.apiVersion.split('/')[1]!, object.metadata.name)}?fieldManager=${manager}&force=${force}`,
    { body: object, headers: { 'content-type': 'application/apply-patch+yaml' } },
  );
async function define(definition: CustomResourceDefinition): Promise<void> {
  const existing = api.space.get({
    group: 'apiextensions.k8s.io',
    resource: 'customresourcedefinitions',
    namespace: '',
    name: definition.metadata.name!,
  });
  if (existing) {
    const { resourceVersion } = existing.metadata;
    const body = { ...definition, metadata: { ...existing.metadata, resourceVersion } };
    await api.call('PUT', `${definitionPath}/${definition.metadata.name}`, { body });
  } else await api.call('POST', definitionPath, { body: definition });
  api.settle();
}

beforeEach(async () => {
  api = new HandlerBench();
  await define(peers([{ name: 'v1' }, { name: 'v1beta1' }]));
});

describe('a definition with a conversion webhook', () => {
  it('keeps its stanza as written, and is established', async () => {
    const found = await api.get<CustomResourceDefinition>(`${definitionPath}/peers.net.example.com`);
    expect(found.spec.conversion).toEqual({ strategy: 'Webhook', webhook });
    expect(found.status?.conditions?.map(({ type, status }) => `${type}=${status}`)).toContain('Established=True');
    expect(found.status?.storedVersions).toEqual(['v1']);
  });

  it('serves an object in the version in which it was written, whatever the storage version is', async () => {
    await post(peer('v1beta1', { address: '10.0.0.1' }));
    expect(await get('v1beta1')).toMatchObject({
      apiVersion: 'net.example.com/v1beta1',
      spec: { address: '10.0.0.1' },
    });
    const list = await api.get<{ apiVersion: string; items: KubeObject[] }>(path('v1beta1'));
    expect(list.items.map(({ apiVersion }) => apiVersion)).toEqual(['net.example.com/v1beta1']);
  });

  it('names object, version and remedy to the reader of another version', async () => {
    await post(peer('v1beta1', { address: '10.0.0.1' }));
    const expected =
      'conversion webhook for net.example.com/v1beta1, Kind=Peer failed: this API server runs no conversion webhooks, and peers.net.example.com "a" in namespace "shop" is stored in v1beta1, the version in which it was written: ask for v1beta1 (kubectl get peers.v1beta1.net.example.com a -n shop), or write the whole object in v1 (kubectl apply --server-side)';
    expect(await failure(get('v1'))).toBe(expected);
    expect(await failure(api.get(path('v1')))).toBe(expected);
    expect(await failure(api.get('/apis/net.example.com/v1/peers'))).toBe(expected);
    expect((await refusalOf(get('v1'))).code).toBe('Internal');
  });

  it('lists a mixed kind as a table, with the columns of each object, and as metadata', async () => {
    await define(
      peers([
        { name: 'v1', columns: [{ name: 'Address', type: 'string', jsonPath: '.spec.to.address' }] },
        {
          name: 'v1beta1',
          columns: [
            { name: 'Address', type: 'string', jsonPath: '.spec.address' },
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
        },
      ]),
    );
    await post(peer('v1beta1', { address: '10.0.0.1' }));
    await post(peer('v1', { to: { address: '10.0.0.2' } }, { name: 'b' }));
    const rows = async (version: string) =>
      (await api.get<{ rows: { cells: unknown[] }[] }>(path(version), table)).rows.map(({ cells }) => cells);
    expect(await rows('v1')).toEqual([
      ['a', '10.0.0.1'],
      ['b', '10.0.0.2'],
    ]);
    expect(await rows('v1beta1')).toEqual([
      ['a', '10.0.0.1', expect.any(String)],
      ['b', '10.0.0.2', '<v1>'],
    ]);
    const metadata = await api.get<{ metadata: { name: string } }>(path('v1', 'a'), partial);
    expect(metadata).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'a' } });
  });

  it('ends the watch of a version with an error event when an object of another version comes', async () => {
    const watch = await api.watch(`${path('v1')}?watch=true`);
    await post(peer('v1', { to: {} }, { name: 'b' }));
    await post(peer('v1beta1', { address: '10.0.0.1' }));
    const [added, error] = watch.take();
    expect(added).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'b' } } });
    expect(error).toMatchObject({ type: 'ERROR', object: { code: 500, reason: 'InternalError' } });
    expect(error?.object.message).toContain('ask for v1beta1');
    expect(watch.ended).toBe(true);
  });

  it('converts if both versions have the same schema that names every field', async () => {
    const schema = (description: string): SchemaProps => ({
      type: 'object',
      properties: {
        spec: { type: 'object', description, properties: { port: { type: 'integer', default: 7 } } },
        status: { type: 'object', properties: { description: { type: 'string', description } } },
      },
    });
    await define(
      peers([
        { name: 'v1', schema: schema('new') },
        { name: 'v1beta1', schema: schema('old') },
      ]),
    );
    await post(peer('v1beta1', {}));
    expect(await get('v1')).toMatchObject({ apiVersion: 'net.example.com/v1', spec: { port: 7 } });
    expect((await get('v1beta1')).apiVersion).toBe('net.example.com/v1beta1');
  });

  it.each<[string, SchemaProps, SchemaProps]>([
    ['a field of another name', { type: 'object', properties: { a: { type: 'string' } } }, { type: 'object' }],
    [
      'another default',
      { type: 'object', properties: { a: { type: 'integer', default: 1 } } },
      { type: 'object', properties: { a: { type: 'integer', default: 2 } } },
    ],
    [
      'unknown fields deep below',
      { type: 'object', properties: { a: { type: 'array', items: anything } } },
      { type: 'object', properties: { a: { type: 'array', items: anything } } },
    ],
    [
      'unknown fields as the values of a map',
      { type: 'object', properties: { a: { type: 'object', additionalProperties: anything } } },
      { type: 'object', properties: { a: { type: 'object', additionalProperties: anything } } },
    ],
  ])('does not convert with %s', async (_, v1, v1beta1) => {
    const root = (spec: SchemaProps): SchemaProps => ({ type: 'object', properties: { spec } });
    await define(
      peers([
        { name: 'v1', schema: root(v1) },
        { name: 'v1beta1', schema: root(v1beta1) },
      ]),
    );
    await post(peer('v1beta1', {}));
    expect(await failure(get('v1'))).toContain('is stored in v1beta1');
  });

  it('evaluates a selector over fields only in the version of the request', async () => {
    const v1beta1 = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { mode: { type: 'string' } } } },
    };
    const definition = peers([{ name: 'v1' }, { name: 'v1beta1', schema: v1beta1 }]);
    definition.spec.versions[1]!.selectableFields = [{ jsonPath: '.spec.mode' }];
    await define(definition);
    await post(peer('v1beta1', { mode: 'x' }));
    await post(peer('v1', { kind: 'x' }, { name: 'b', labels: { tier: 'web' } }));
    const selected = `${path('v1beta1')}?fieldSelector=spec.mode!%3Dx`;
    expect(await failure(api.get(selected))).toContain('"b" in namespace "shop" is stored in v1');
    expect(await failure(api.call('DELETE', selected))).toContain('"b" in namespace "shop" is stored in v1');
    const list = await api.get<{ items: KubeObject[] }>(`${path('v1')}?labelSelector=tier%3Dweb`);
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(['b']);
  });
});

describe('a write in another version than the stored one', () => {
  beforeEach(async () => {
    await post(peer('v1beta1', { address: '10.0.0.1' }, { labels: { tier: 'web' } }));
  });

  it('replaces the whole object, and keeps its identity', async () => {
    const before = await get('v1beta1');
    const { resourceVersion } = before.metadata;
    const body = peer('v1', { to: { address: '10.0.0.1' } }, { resourceVersion, labels: { tier: 'db' } });
    await api.call('PUT', path('v1', 'a'), { body });
    const after = await get('v1');
    expect(after.spec).toEqual({ to: { address: '10.0.0.1' } });
    expect(after.metadata).toMatchObject({ uid: before.metadata.uid, generation: 2, labels: { tier: 'db' } });
    expect(await failure(get('v1beta1'))).toContain('is stored in v1');
  });

  it('warns that the status of the other version goes', async () => {
    const { metadata } = await get('v1beta1');
    const withStatus = { ...peer('v1beta1', {}), metadata, status: { ready: 'yes' } };
    await api.call('PUT', `${path('v1beta1', 'a')}/status`, { body: withStatus });
    const { resourceVersion } = (await get('v1beta1')).metadata;
    const { headers } = await api.call('PUT', path('v1', 'a'), { body: peer('v1', {}, { resourceVersion }) });
    expect(String(headers.warning)).toContain('status: it was written in v1beta1');
    expect((await get('v1')).status).toBeUndefined();
  });

  it('takes a server-side apply of the owner as the whole object, and names other owners as conflicts', async () => {
    await api.call('DELETE', path('v1beta1', 'a'));
    await ssa(peer('v1beta1', { address: '10.0.0.1', port: 1 }, { labels: { tier: 'web' } }), 'team');
    await ssa(peer('v1', { to: { address: '10.0.0.1' } }, { labels: { tier: 'web' } }), 'team');
    expect((await get('v1')).spec).toEqual({ to: { address: '10.0.0.1' } });
    expect((await get('v1')).metadata.managedFields?.map(({ apiVersion }) => apiVersion)).toEqual([
      'net.example.com/v1',
    ]);
    const other = peer('v1beta1', { address: '10.0.0.9' });
    expect(await failure(ssa(other, 'other'))).toMatch(/conflicts with "team":\n.*- \.spec\.to\.address/s);
    await ssa(other, 'other', true);
    expect((await get('v1beta1')).spec).toEqual({ address: '10.0.0.9' });
    expect((await get('v1beta1')).metadata.labels).toEqual({ tier: 'web' });
  });

  it('is refused if it is only a part of an object: a patch, a status, a scale', async () => {
    const merge = { body: { spec: { x: 1 } }, headers: { 'content-type': 'application/merge-patch+json' } };
    expect(await failure(api.call('PATCH', path('v1', 'a'), merge))).toContain('is stored in v1beta1');
    const body = { ...peer('v1', {}), metadata: (await get('v1beta1')).metadata, status: {} };
    expect(await failure(api.call('PUT', `${path('v1', 'a')}/status`, { body }))).toContain('is stored in v1beta1');
    expect((await get('v1beta1')).spec).toEqual({ address: '10.0.0.1' });
  });

  it('of the node itself, without a version, is in the stored version', () => {
    const key = { group: 'net.example.com', resource: 'peers', namespace: 'shop', name: 'a' };
    const patched = api.space.patch(key, { type: 'merge', patch: { metadata: { labels: { tier: 'db' } } } });
    expect(patched).toMatchObject({ apiVersion: 'net.example.com/v1beta1', metadata: { labels: { tier: 'db' } } });
  });

  it('deletes an object of any version', async () => {
    await api.call('DELETE', path('v1', 'a'));
    expect((await api.get<{ items: unknown[] }>(path('v1'))).items).toEqual([]);
  });
});

it('scales an object by the field of its own version', async () => {
  await define(
    peers([
      { name: 'v1', scale: '.spec.to.count' },
      { name: 'v1beta1', scale: '.spec.count' },
    ]),
  );
  await post(peer('v1beta1', { count: 2 }));
  const key = { group: 'net.example.com', resource: 'peers', namespace: 'shop', name: 'a' };
  const scale = api.space.getScale(key)!;
  expect(scale).toMatchObject({ spec: { replicas: 2 } });
  api.space.updateScale(key, { ...scale, spec: { replicas: 5 } });
  expect((await get('v1beta1')).spec).toEqual({ count: 5 });
});

describe('a change of the definition', () => {
  it('of the storage version leaves stored objects as they are', async () => {
    await post(peer('v1', { to: {} }));
    await define(peers([{ name: 'v1' }, { name: 'v1beta1' }], 'v1beta1'));
    expect((await get('v1')).spec).toEqual({ to: {} });
    const definition = await api.get<CustomResourceDefinition>(`${definitionPath}/peers.net.example.com`);
    expect(definition.status?.storedVersions).toEqual(['v1', 'v1beta1']);
  });

  it('shows an object in the version that the client asks for after a flip without a webhook too', async () => {
    const plain = (storage: string) => {
      const definition = peers([{ name: 'v1' }, { name: 'v1beta1' }], storage);
      definition.metadata.name = 'links.net.example.com';
      definition.spec.names = { plural: 'links', singular: 'link', kind: 'Link', listKind: 'LinkList' };
      definition.spec.conversion = { strategy: 'None' };
      return definition;
    };
    await define(plain('v1beta1'));
    const links = (version: string) => `/apis/net.example.com/${version}/namespaces/shop/links`;
    const body = { ...peer('v1beta1', { x: 1 }), kind: 'Link' };
    await api.call('POST', links('v1beta1'), { body });
    await define(plain('v1'));
    for (const version of ['v1', 'v1beta1']) {
      const list = await api.get<{ items: KubeObject[] }>(links(version));
      expect(list.items[0]).toMatchObject({ apiVersion: `net.example.com/${version}`, spec: { x: 1 } });
    }
  });

  it.each<[string, CustomResourceDefinition, string]>([
    ['removes their version', peers([{ name: 'v1' }]), 'spec.versions: Invalid value: ["v1"]: must keep v1beta1: '],
    [
      'does not serve their version',
      peers([{ name: 'v1' }, { name: 'v1beta1', served: false }]),
      'spec.versions[1].served: Invalid value: false: ',
    ],
    [
      'leaves the webhook out',
      { ...peers([{ name: 'v1' }, { name: 'v1beta1' }]) },
      'spec.conversion.strategy: Invalid value: "None": ',
    ],
  ])('that %s is refused while there are such objects', async (_, next, expected) => {
    const changed = structuredClone(next);
    if (expected.includes('None')) changed.spec.conversion = { strategy: 'None' };
    await post(peer('v1beta1', { address: '10.0.0.1' }));
    const message = await failure(define(changed));
    expect(message).toContain(`${expected}objects are stored in v1beta1, such as peers.net.example.com shop/a, and`);
    expect(message).toContain('write these objects in another version first');
    await api.call('DELETE', path('v1beta1', 'a'));
    await define(changed);
  });
});
