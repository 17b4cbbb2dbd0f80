import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DownsyncItem, DownsyncMatch } from '../../../../core/apiserver/kinds/edge-placement.ts';
import { mayTravel } from '../../../../core/apiserver/kinds/travelling.ts';
import { type Candidate, candidateOf, mayIncludeResource, selectingItems } from '../../../../relay/spaces/downsync.ts';

const deployment: Candidate = {
  key: { group: 'apps', resource: 'deployments', namespace: 'shop', name: 'till' },
  labels: { app: 'till' },
  namespaceLabels: { tier: 'front' },
};
const clusterRole: Candidate = {
  key: { group: 'rbac.authorization.k8s.io', resource: 'clusterroles', namespace: '', name: 'till' },
  labels: { app: 'till' },
};
const everything: DownsyncItem = { apiGroup: '*', resources: ['*'] };
const selects = (item: DownsyncItem, candidate = deployment) => selectingItems([item], candidate).length > 0;

describe('a downsync item', () => {
  it('with * selects every object, in a namespace or not', () => {
    expect([selects(everything), selects(everything, clusterRole)]).toEqual([true, true]);
  });

  it('that names no resources selects nothing', () => {
    for (const item of [{}, { resources: [] }, { apiGroup: 'apps' }, { namespaces: ['*'], objectNames: ['*'] }]) {
      expect(selects(item)).toBe(false);
    }
  });

  it('without a group is for every group, with the empty one for the core group only', () => {
    expect(selects({ resources: ['deployments'] })).toBe(true);
    expect(selects({ apiGroup: '', resources: ['deployments'] })).toBe(false);
    expect(selects({ apiGroup: 'apps', resources: ['deployments'] })).toBe(true);
    expect(selects({ apiGroup: 'batch', resources: ['*'] })).toBe(false);
  });

  it.each<[string, DownsyncItem, boolean]>([
    ['its resource', { resources: ['statefulsets', 'deployments'] }, true],
    ['another resource', { resources: ['statefulsets'] }, false],
    ['its name', { ...everything, objectNames: ['till'] }, true],
    ['another name', { ...everything, objectNames: ['tills'] }, false],
    ['no name of an empty list', { ...everything, objectNames: [] }, false],
    ['its namespace', { ...everything, namespaces: ['shop'] }, true],
    ['another namespace', { ...everything, namespaces: ['shop2'] }, false],
    ['no namespace of an empty list', { ...everything, namespaces: [] }, false],
    ['its labels', { ...everything, labelSelectors: [{ matchLabels: { app: 'till' } }] }, true],
    ['other labels', { ...everything, labelSelectors: [{ matchLabels: { app: 'x' } }] }, false],
    ['no labels of an empty list', { ...everything, labelSelectors: [] }, false],
    ["its namespace's labels", { ...everything, namespaceSelectors: [{ matchLabels: { tier: 'front' } }] }, true],
    [
      'other labels of its namespace',
      { ...everything, namespaceSelectors: [{ matchLabels: { tier: 'back' } }] },
      false,
    ],
    ['no labels of its namespace of an empty list', { ...everything, namespaceSelectors: [] }, false],
  ])('reads %s', (_, item, expected) => {
    expect(selects(item)).toBe(expected);
  });

  it('matches with one of its label selectors', () => {
    const labelSelectors = [{ matchLabels: { app: 'x' } }, { matchLabels: { app: 'till' } }];
    expect(selects({ ...everything, labelSelectors })).toBe(true);
  });

  it('with a namespace selects no cluster-scoped object, not even with *', () => {
    expect(selects({ ...everything, namespaces: ['*'] }, clusterRole)).toBe(false);
    expect(selects({ ...everything, namespaceSelectors: [{}] }, clusterRole)).toBe(false);
    expect(selects({ ...everything, namespaces: ['*'], namespaceSelectors: [{}] })).toBe(true);
  });

  it('requires every field to match', () => {
    const item: DownsyncItem = {
      apiGroup: 'apps',
      resources: ['deployments'],
      namespaces: ['shop'],
      objectNames: ['till'],
      labelSelectors: [{ matchLabels: { app: 'till' } }],
      namespaceSelectors: [{ matchLabels: { tier: 'front' } }],
    };
    expect(selects(item)).toBe(true);
    const wrong: DownsyncItem = {
      apiGroup: 'batch',
      resources: ['jobs'],
      namespaces: ['other'],
      objectNames: ['other'],
      labelSelectors: [{ matchLabels: { app: 'other' } }],
      namespaceSelectors: [{ matchLabels: { tier: 'other' } }],
    };
    for (const field of Object.keys(wrong) as (keyof DownsyncItem)[]) {
      expect(selects({ ...item, [field]: wrong[field] }), field).toBe(false);
    }
  });
});

describe('a list of downsync items', () => {
  const name = fc.constantFrom('*', 'deployments', 'clusterroles', 'till', 'shop', 'x');
  const names = fc.array(name, { maxLength: 2 });
  const item: fc.Arbitrary<DownsyncItem> = fc.record(
    {
      apiGroup: fc.constantFrom('', '*', 'apps', 'rbac.authorization.k8s.io'),
      resources: names,
      namespaces: names,
      objectNames: names,
    },
    { requiredKeys: [] },
  );

  it('selects everything that one of its items selects, and names the items', () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 4 }), fc.constantFrom(deployment, clusterRole), (items, candidate) => {
        expect(selectingItems(items, candidate)).toEqual(items.filter((one) => selects(one, candidate)));
      }),
    );
  });

  it('has items that concern the resource of every selected object', () => {
    fc.assert(
      fc.property(item, fc.constantFrom(deployment, clusterRole), (one, candidate) => {
        if (selects(one, candidate)) expect(mayIncludeResource(one, candidate.key)).toBe(true);
      }),
    );
    expect(mayIncludeResource({ apiGroup: 'apps', resources: ['*'] }, clusterRole.key)).toBe(false);
  });
});

describe('an object', () => {
  const at = (group: string, resource: string) => mayTravel({ group, resource });

  it('travels if it is a workload', () => {
    expect([at('apps', 'deployments'), at('', 'configmaps'), at('', 'namespaces')]).toEqual([true, true, true]);
  });

  it('stays if it describes destinations, or belongs to the bookkeeping of its own cluster', () => {
    const stays = [
      at('edge.banyan.io', 'edgeplacements'),
      at('inventory.banyan.io', 'locations'),
      at('mesh.banyan.io', 'nodes'),
      at('', 'events'),
      at('events.k8s.io', 'events'),
      at('', 'nodes'),
    ];
    expect(stays).not.toContain(true);
  });
});

describe('an exception of an item', () => {
  const but = (...except: DownsyncMatch[]): DownsyncItem => ({ ...everything, except });

  it.each<[string, DownsyncMatch, boolean]>([
    ['its resource', { resources: ['deployments'] }, false],
    ['another resource', { resources: ['statefulsets'] }, true],
    ['its group', { apiGroup: 'apps' }, false],
    ['another group', { apiGroup: '' }, true],
    ['its name alone', { objectNames: ['till'] }, false],
    ['its namespace', { namespaces: ['shop'] }, false],
    ['another namespace', { namespaces: ['bank'] }, true],
    ['its labels', { labelSelectors: [{ matchLabels: { app: 'till' } }] }, false],
    ["its namespace's labels", { namespaceSelectors: [{ matchLabels: { tier: 'front' } }] }, false],
    ['its name in another namespace', { objectNames: ['till'], namespaces: ['bank'] }, true],
    ['everything', {}, false],
  ])('reads %s', (_, except, expected) => {
    expect(selects(but(except))).toBe(expected);
  });

  it('is one of several, and concerns only its own item', () => {
    expect(selects(but({ resources: ['pods'] }, { objectNames: ['till'] }))).toBe(false);
    expect(selectingItems([but({}), everything], deployment)).toEqual([everything]);
  });

  it('with namespaces is for no cluster-scoped object', () => {
    expect(selects(but({ namespaces: ['*'] }), clusterRole)).toBe(true);
    expect(selects(but({ objectNames: ['till'] }), clusterRole)).toBe(false);
  });
});

describe('bookkeeping of a space', () => {
  const candidate = (group: string, resource: string, object: object, metadata: object = {}) => {
    const key = { group, resource, namespace: 'shop', name: 'x', ...metadata };
    const whole = { apiVersion: 'v1', kind: 'X', ...object, metadata: { name: key.name, ...metadata } };
    return candidateOf(key, whole, {});
  };
  const token = (account: string) =>
    candidate(
      '',
      'secrets',
      { type: 'kubernetes.io/service-account-token' },
      { annotations: { 'kubernetes.io/service-account.name': account } },
    );
  const slice = (by: string) =>
    candidate('discovery.k8s.io', 'endpointslices', {}, { labels: { 'endpointslice.kubernetes.io/managed-by': by } });

  const kept: [string, Candidate][] = [
    ['a release of helm', candidate('', 'secrets', { type: 'helm.sh/release.v1' })],
    [
      'a release of helm in a ConfigMap',
      candidate('', 'configmaps', {}, { name: 'sh.helm.release.v1.shop.v1', labels: { owner: 'helm' } }),
    ],
    ['its token', token('default')],
    ['a slice of a controller', slice('endpointslice-controller.k8s.io')],
    [
      'endpoints of a controller',
      candidate('', 'endpoints', {}, { annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': 'now' } }),
    ],
    ['a Lease', candidate('coordination.k8s.io', 'leases', {})],
  ];

  it.each(kept)('is left out by *, and included by name: %s', (_, one) => {
    expect(selects({ ...everything, namespaces: ['shop'] }, one)).toBe(false);
    expect(selects({ resources: ['*', one.key.resource] }, one)).toBe(true);
    expect(selects({ ...everything, objectNames: [one.key.name] }, one)).toBe(true);
    expect(selects({ ...everything, objectNames: ['*'] }, one)).toBe(false);
    expect(selects({ ...everything, objectNames: [one.key.name], except: [{}] }, one)).toBe(false);
  });

  const published: [string, Candidate][] = [
    ['the certificate of the cluster', candidate('', 'configmaps', {}, { name: 'kube-root-ca.crt' })],
    ['a default ServiceAccount', candidate('', 'serviceaccounts', {}, { name: 'default' })],
    ['the Service of the API server', candidate('', 'services', {}, { name: 'kubernetes', namespace: 'default' })],
    ['its slice', candidate('discovery.k8s.io', 'endpointslices', {}, { name: 'kubernetes', namespace: 'default' })],
    ['a Namespace of the cluster itself', candidate('', 'namespaces', {}, { name: 'kube-public', namespace: '' })],
  ];

  it.each(published)('is left out by * and by the name of the resource, if the space publishes it: %s', (_, one) => {
    expect(selects({ resources: ['*', one.key.resource] }, one)).toBe(false);
    expect(selects({ ...everything, objectNames: ['*'] }, one)).toBe(false);
    expect(selects({ ...everything, objectNames: [one.key.name] }, one)).toBe(true);
  });

  it.each<[string, Candidate]>([
    [
      'a default ServiceAccount with content of its own',
      candidate('', 'serviceaccounts', { imagePullSecrets: [{ name: 'x' }] }, { name: 'default' }),
    ],
  ])('is included by the name of its resource: %s', (_, one) => {
    expect(selects({ ...everything, namespaces: ['shop'] }, one)).toBe(false);
    expect(selects({ resources: ['*', one.key.resource] }, one)).toBe(true);
  });

  it.each<[string, Candidate]>([
    ['a Secret', candidate('', 'secrets', { type: 'Opaque' })],
    ['the token of an own ServiceAccount', token('robot')],
    ['a ConfigMap of helm’s author', candidate('', 'configmaps', {}, { labels: { owner: 'helm' } })],
    ['an own ServiceAccount', candidate('', 'serviceaccounts', {}, { name: 'robot' })],
    ['a slice that a person manages', slice('staff')],
    ['endpoints that a person wrote', candidate('', 'endpoints', {})],
    ['a custom kind of the same plural', candidate('shop.example.com', 'leases', {})],
  ])('is not %s', (_, one) => {
    expect(selects(everything, one)).toBe(true);
  });
});
