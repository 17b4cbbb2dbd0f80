import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DownsyncItem } from '../../../../core/apiserver/kinds/edge-placement.ts';
import { mayTravel } from '../../../../core/apiserver/kinds/travelling.ts';
import { type Candidate, mayIncludeResource, selectingItems } from '../../../../relay/spaces/downsync.ts';

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
      at('coordination.k8s.io', 'leases'),
    ];
    expect(stays).not.toContain(true);
  });
});
