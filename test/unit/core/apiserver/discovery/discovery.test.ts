import { beforeEach, describe, expect, it } from 'vitest';
import { ViewStorage } from '../../../../../core/apiserver/storage/view.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { boards } from '../crd/support.ts';
import { HandlerBench } from '../http/handler-bench.ts';
import { refusalOf } from '../http/handler-errors.ts';

interface Resource {
  name: string;
  singularName: string;
  namespaced: boolean;
  kind: string;
  group?: string;
  version?: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
}

interface AggregatedResource {
  resource: string;
  responseKind: { group: string; version: string; kind: string };
  scope: string;
  singularResource: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  subresources: { subresource: string; responseKind: object; verbs: string[] }[];
}

interface Aggregated {
  kind: string;
  apiVersion: string;
  items: {
    metadata: { name?: string };
    versions: { version: string; freshness: string; resources: AggregatedResource[] }[];
  }[];
}

const form = (version: string) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

let api: HandlerBench;
beforeEach(() => {
  api = new HandlerBench();
});

describe('plain discovery', () => {
  it('names the version of Kubernetes that the API follows, as numbers that clients compare', async () => {
    expect(await api.get('/version')).toMatchObject({
      major: '1',
      minor: expect.stringMatching(/^\d+$/),
      gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/),
    });
  });

  it('lists the core versions and every other group, each with its preferred version', async () => {
    expect(await api.get('/api')).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
    const list = await api.get<{ kind: string; groups: { name: string; preferredVersion: object }[] }>('/apis');
    expect(list.kind).toBe('APIGroupList');
    const names = list.groups.map((group) => group.name);
    expect(names).not.toContain('');
    for (const name of ['apps', 'batch', 'rbac.authorization.k8s.io', 'apiextensions.k8s.io', 'edge.banyan.io']) {
      expect(names).toContain(name);
    }
    expect(list.groups.find(({ name }) => name === 'apps')).toEqual({
      name: 'apps',
      versions: [{ groupVersion: 'apps/v1', version: 'v1' }],
      preferredVersion: { groupVersion: 'apps/v1', version: 'v1' },
    });
  });

  it('lists the groups in the order of a kube-apiserver, and those of the mesh last', async () => {
    const list = await api.get<{ groups: { name: string }[] }>('/apis');
    const names = list.groups.map(({ name }) => name);
    const ordered = [
      'apps',
      'autoscaling',
      'batch',
      'policy',
      'storage.k8s.io',
      'coordination.k8s.io',
      'edge.banyan.io',
    ];
    expect(names.filter((name) => ordered.includes(name))).toEqual(ordered);
    const aggregated = await api.get<Aggregated>('/apis', form('v2'));
    expect(aggregated.items.map(({ metadata }) => metadata.name)).toEqual(names);
  });

  it('describes one group', async () => {
    expect(await api.get('/apis/batch')).toMatchObject({ kind: 'APIGroup', apiVersion: 'v1', name: 'batch' });
    expect((await refusalOf(api.get('/apis/nothing'))).code).toBe('NotFound');
  });

  it('describes a resource with its names, scope, verbs and subresources', async () => {
    const list = await api.get<{ groupVersion: string; resources: Resource[] }>('/apis/apps/v1');
    expect(list).toMatchObject({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'apps/v1' });
    expect(list.resources.filter((one) => one.name.startsWith('deployments'))).toEqual([
      {
        name: 'deployments',
        singularName: 'deployment',
        namespaced: true,
        kind: 'Deployment',
        verbs: allVerbs,
        shortNames: ['deploy'],
        categories: ['all'],
      },
      {
        name: 'deployments/status',
        singularName: '',
        namespaced: true,
        kind: 'Deployment',
        verbs: ['get', 'patch', 'update'],
      },
      {
        name: 'deployments/scale',
        singularName: '',
        namespaced: true,
        group: 'autoscaling',
        version: 'v1',
        kind: 'Scale',
        verbs: ['get', 'patch', 'update'],
      },
    ]);
  });

  it('has every kind that kubectl apply --prune needs', async () => {
    const core = await api.get<{ resources: Resource[] }>('/api/v1');
    const kinds = new Set(core.resources.map((resource) => resource.kind));
    for (const kind of [
      'ConfigMap',
      'Endpoints',
      'Namespace',
      'PersistentVolumeClaim',
      'PersistentVolume',
      'Pod',
      'ReplicationController',
      'Secret',
      'Service',
    ]) {
      expect(kinds).toContain(kind);
    }
    for (const [path, kind] of [
      ['/apis/batch/v1', 'Job'],
      ['/apis/batch/v1', 'CronJob'],
      ['/apis/networking.k8s.io/v1', 'Ingress'],
      ['/apis/apps/v1', 'DaemonSet'],
      ['/apis/apps/v1', 'Deployment'],
      ['/apis/apps/v1', 'ReplicaSet'],
      ['/apis/apps/v1', 'StatefulSet'],
    ] as const) {
      const { resources } = await api.get<{ resources: Resource[] }>(path);
      expect(resources.map((resource) => resource.kind)).toContain(kind);
    }
  });
});

describe('aggregated discovery', () => {
  it.each(['v2', 'v2beta1'])(
    'has the version that was requested, and names it in its content type: %s',
    async (version) => {
      const { headers, json } = await api.call('GET', '/apis', {
        headers: { accept: `${form(version)},application/json` },
      });
      expect(headers['content-type']).toBe(form(version));
      expect(json()).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}` });
    },
  );

  it('has the core group under /api and the others under /apis', async () => {
    const core = await api.get<Aggregated>('/api', form('v2'));
    expect(core.items).toHaveLength(1);
    expect(core.items[0]?.metadata).not.toHaveProperty('name');
    expect(core.items[0]?.versions[0]).toMatchObject({ version: 'v1', freshness: 'Current' });
    const others = await api.get<Aggregated>('/apis', form('v2'));
    expect(others.items.map((item) => item.metadata.name)).toContain('edge.banyan.io');
  });

  it('describes a resource with its names, scope, verbs and subresources', async () => {
    const { items } = await api.get<Aggregated>('/apis', form('v2'));
    const apps = items.find((item) => item.metadata.name === 'apps');
    const own = { group: 'apps', version: 'v1', kind: 'Deployment' };
    const verbs = ['get', 'patch', 'update'];
    expect(apps?.versions[0]?.resources.find((one) => one.resource === 'deployments')).toEqual({
      resource: 'deployments',
      responseKind: own,
      scope: 'Namespaced',
      singularResource: 'deployment',
      verbs: allVerbs,
      shortNames: ['deploy'],
      categories: ['all'],
      subresources: [
        { subresource: 'status', responseKind: own, verbs },
        { subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs },
      ],
    });
    const banyan = items.find((item) => item.metadata.name === 'edge.banyan.io');
    expect(banyan?.versions[0]?.resources.find((one) => one.resource === 'edgeplacements')).toMatchObject({
      scope: 'Cluster',
      shortNames: ['epl'],
      categories: ['banyan'],
    });
  });

  it('agrees with plain discovery', async () => {
    const { items } = await api.get<Aggregated>('/apis', form('v2'));
    for (const { metadata, versions } of items) {
      for (const { version, resources } of versions) {
        const plain = await api.get<{ resources: Resource[] }>(`/apis/${metadata.name}/${version}`);
        const names = resources.flatMap(({ resource, subresources = [] }) => [
          resource,
          ...subresources.map((one) => `${resource}/${one.subresource}`),
        ]);
        expect(plain.resources.map((one) => one.name)).toEqual(names);
      }
    }
  });
});

describe('a custom kind in discovery', () => {
  it('appears with its definition, in the order of its versions, and goes with it', async () => {
    const definition = boards({ type: 'object' });
    const [v1] = definition.spec.versions;
    definition.spec.versions.unshift({ ...v1!, name: 'v1beta1', storage: false });
    definition.spec.names.shortNames = ['bd'];
    api.space.create(definition);
    api.settle();
    const group = await api.get<{ versions: { version: string }[]; preferredVersion: object }>(
      '/apis/shop.example.com',
    );
    expect(group.versions.map(({ version }) => version)).toEqual(['v1', 'v1beta1']);
    expect(group.preferredVersion).toEqual({ groupVersion: 'shop.example.com/v1', version: 'v1' });
    const { resources } = await api.get<{ resources: Resource[] }>('/apis/shop.example.com/v1beta1');
    expect(resources).toMatchObject([{ name: 'boards', singularName: 'board', kind: 'Board', shortNames: ['bd'] }]);

    api.space.delete(api.space.keyOf(definition));
    api.settle();
    expect((await refusalOf(api.get('/apis/shop.example.com'))).code).toBe('NotFound');
  });
});

describe('a read-only space in discovery', () => {
  it('offers nothing that writes', async () => {
    const source = { list: () => [], get: () => undefined };
    const view = new HandlerBench({ shown: new ViewStorage(source, new VirtualClock(), silentLogger) });
    const reading = ['get', 'list', 'watch'];
    const { resources } = await view.get<{ resources: Resource[] }>('/apis/apps/v1');
    for (const { name, verbs } of resources) expect(verbs).toEqual(name.includes('/') ? ['get'] : reading);
    const { items } = await view.get<Aggregated>('/api', form('v2'));
    for (const { verbs, subresources } of items[0]!.versions[0]!.resources) {
      expect(verbs).toEqual(reading);
      for (const subresource of subresources) expect(subresource.verbs).toEqual(['get']);
    }
  });
});
