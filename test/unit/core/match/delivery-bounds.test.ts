import { describe, expect, it } from 'vitest';
import {
  boundedSelectors,
  type DeliveryBounds,
  matchesPattern,
  mayDeliver,
} from '../../../../core/match/delivery-bounds.ts';
import { boundedUpsync, upsyncBeyond } from '../../../../core/match/upsync-bounds.ts';
import type { UpsyncItem } from '../../../../core/match/upsync-item.ts';

const key = (group: string, resource: string, namespace: string, name: string) => ({
  group,
  resource,
  namespace,
  name,
});
const bounds: DeliveryBounds = {
  locationSelector: { matchLabels: { region: 'eu' } },
  namespaces: ['till-*', 'shared'],
  clusterScoped: [{ apiGroup: 'scheduling.k8s.io', resources: ['priorityclasses'] }],
  upsync: [
    { apiGroup: '', resources: ['configmaps', 'secrets'] },
    { apiGroup: 'wgpolicyk8s.io', resources: ['*'] },
  ],
  priorityMax: 10,
};

describe('the bounds of a space', () => {
  it.each([
    ['till-*', 'till-1', true],
    ['till-*', 'till', false],
    ['till-*', 'xtill-1', false],
    ['*-till', 'eu-till', true],
    ['a*b*c', 'axxbyyc', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['*', 'anything', true],
    ['shop', 'shop', true],
    ['shop', 'shop-2', false],
    [`${'*a'.repeat(31)}`, `${'a'.repeat(60)}b`, false],
  ])('the pattern %s and the name %s: %j', (pattern, name, matches) => {
    expect(matchesPattern(pattern, name)).toBe(matches);
  });

  it.each([
    [key('', 'configmaps', 'till-1', 'a'), true],
    [key('', 'configmaps', 'kube-system', 'a'), false],
    [key('', 'namespaces', '', 'till-1'), true],
    [key('', 'namespaces', '', 'kube-system'), false],
    [key('scheduling.k8s.io', 'priorityclasses', '', 'a'), true],
    [key('rbac.authorization.k8s.io', 'clusterroles', '', 'a'), false],
    [key('rbac.authorization.k8s.io', 'roles', 'shared', 'a'), true],
  ])('decide about %j: %j', (one, may) => {
    expect(mayDeliver(bounds, one)).toBe(may);
    expect(mayDeliver(undefined, one)).toBe(true);
    expect(mayDeliver({}, one)).toBe(true);
  });

  it('allow nothing by an empty list', () => {
    expect(mayDeliver({ namespaces: [] }, key('', 'configmaps', 'a', 'a'))).toBe(false);
    expect(mayDeliver({ clusterScoped: [] }, key('storage.k8s.io', 'storageclasses', '', 'a'))).toBe(false);
    expect(mayDeliver({ clusterScoped: [] }, key('', 'namespaces', '', 'a'))).toBe(true);
  });

  it('narrow the selectors of a placement, also of one that has only an expression', () => {
    const eu = { matchLabels: { region: 'eu' } };
    const both = { matchLabels: { region: 'eu', env: 'prod' } };
    expect(boundedSelectors([both], false, bounds)).toEqual([both]);
    expect(boundedSelectors([], true, bounds)).toEqual([eu]);
    expect(boundedSelectors([], false, bounds)).toEqual([]);
    expect(boundedSelectors([{}], false, bounds)).toEqual([
      { matchExpressions: [{ key: 'region', operator: 'In', values: ['eu'] }] },
    ]);
  });
});

const item = (resources: string[], more: UpsyncItem = {}): UpsyncItem => ({
  apiGroup: '',
  resources,
  namespaces: ['till-1'],
  ...more,
});

describe('upsync within the bounds of a space', () => {
  it.each<[UpsyncItem, 'resources' | 'namespaces' | undefined]>([
    [item(['configmaps']), undefined],
    [item(['secrets']), undefined],
    [item(['pods']), 'resources'],
    [item(['*']), 'resources'],
    [item(['*'], { apiGroup: 'wgpolicyk8s.io' }), undefined],
    [item(['configmaps'], { namespaces: ['kube-system'] }), 'namespaces'],
    [item(['configmaps'], { namespaces: ['*'] }), 'namespaces'],
    [{ apiGroup: '', resources: ['configmaps'] }, 'namespaces'],
  ])('%j asks for more by: %s', (one, beyond) => {
    expect(upsyncBeyond(one, bounds)).toBe(beyond);
    expect(boundedUpsync([one], bounds)).toEqual(beyond === undefined ? [one] : expect.not.arrayContaining([one]));
  });

  it('never takes Secrets that the bounds do not name', () => {
    const anyKind = { upsync: [{ apiGroup: '*', resources: ['*'] }] };
    for (const some of [{}, anyKind, { upsync: [{ apiGroup: '', resources: ['*'] }] }]) {
      expect(boundedUpsync([item(['secrets', 'configmaps'])], some)).toEqual([item(['configmaps'])]);
      expect(boundedUpsync([item(['secrets'])], some)).toEqual([]);
    }
    expect(boundedUpsync([item(['secrets'])], undefined)).toEqual([item(['secrets'])]);
  });

  it('takes what an item with * and the bounds have in common', () => {
    expect(boundedUpsync([{ apiGroup: '*', resources: ['*'], namespaces: ['*'] }], bounds)).toEqual([
      { apiGroup: '', resources: ['configmaps'], namespaces: ['shared'] },
      { apiGroup: 'wgpolicyk8s.io', resources: ['*'], namespaces: ['shared'] },
    ]);
  });

  it('takes cluster-scoped objects only of kinds that the bounds name', () => {
    const cluster = { clusterScoped: [{ apiGroup: 'wgpolicyk8s.io', resources: ['clusterpolicyreports'] }] };
    const reports: UpsyncItem = { apiGroup: 'wgpolicyk8s.io', resources: ['clusterpolicyreports', 'policyreports'] };
    expect(boundedUpsync([reports], cluster)).toEqual([
      { ...reports, resources: ['clusterpolicyreports'] },
      { ...reports, resources: ['policyreports'], namespaces: ['*'] },
    ]);
    expect(boundedUpsync([{ apiGroup: '', resources: ['nodes'] }], { clusterScoped: [] })).toEqual([
      { apiGroup: '', resources: ['nodes'], namespaces: ['*'] },
    ]);
  });

  it('narrows to a form that it narrows no further', () => {
    for (const one of [
      item(['*']),
      { resources: ['*'] },
      { apiGroup: '*', resources: ['*'], namespaces: ['*', 'till-1'] },
    ]) {
      const once = boundedUpsync([one], bounds);
      expect(boundedUpsync(once, bounds)).toEqual(once);
    }
  });
});
