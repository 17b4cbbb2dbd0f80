import { describe, expect, it } from 'vitest';
import type { UpsyncItem } from '../../../../core/match/upsync-item.ts';
import { parseKey } from '../../../../core/object/key.ts';
import { takingPlacements } from '../../../../edge-agent/upsync/rules.ts';

const taken = (item: UpsyncItem, key: string, labels = {}) =>
  takingPlacements(new Map([['s/p', [item]]]), parseKey(key), labels).length > 0;
const report = 'wgpolicyk8s.io/policyreports/shop/till';

describe('a rule of upsync', () => {
  it.each<[string, UpsyncItem, boolean]>([
    ['nothing when it is empty', {}, false],
    ['nothing with an empty list of resources', { apiGroup: '*', resources: [] }, false],
    ['a resource of any group when it names none', { resources: ['policyreports'] }, true],
    ['a resource of its group only', { apiGroup: '', resources: ['policyreports'] }, false],
    ['any resource by a star', { apiGroup: '*', resources: ['*'] }, true],
    ['the namespaces that it names', { resources: ['*'], namespaces: ['home'] }, false],
    ['any namespace by a star', { resources: ['*'], namespaces: ['*'] }, true],
    ['nothing with an empty list of namespaces', { resources: ['*'], namespaces: [] }, false],
    ['the names that it names', { resources: ['*'], names: ['till'] }, true],
    ['no other names', { resources: ['*'], names: ['web'] }, false],
    [
      'labels by one selector of several',
      { resources: ['*'], labelSelectors: [{ matchLabels: { a: '2' } }, {}] },
      true,
    ],
    ['nothing by an empty list of selectors', { resources: ['*'], labelSelectors: [] }, false],
    ['labels that are all there', { resources: ['*'], labelSelectors: [{ matchLabels: { a: '2' } }] }, false],
  ])('matches %s', (_what, item, expected) => {
    expect(taken(item, report, { a: '1' })).toBe(expected);
  });

  it('selects Secrets, containers and frequently changing kinds only by name', () => {
    const keys = ['/namespaces//shop', '/events/shop/e', 'coordination.k8s.io/leases/shop/l', '/secrets/shop/s'];
    for (const key of keys) {
      expect(taken({ resources: ['*'] }, key)).toBe(false);
      expect(taken({ resources: [parseKey(key).resource] }, key)).toBe(true);
    }
  });

  it('that names namespaces selects no cluster-scoped object', () => {
    expect(taken({ resources: ['nodes'], namespaces: ['*'] }, '/nodes//n1')).toBe(false);
    expect(taken({ resources: ['nodes'] }, '/nodes//n1')).toBe(true);
  });

  it('goes as far up as one of the matching items asks for', () => {
    const rules = new Map<string, UpsyncItem[]>([
      ['s/b', [{ resources: ['*'] }]],
      ['s/a', [{ resources: ['*'] }, { resources: ['policyreports'], returnTo: 'Center' }]],
      ['s/c', [{ resources: ['pods'], returnTo: 'Center' }]],
    ]);
    expect(takingPlacements(rules, parseKey(report), {})).toEqual([
      { id: 's/a', returnTo: 'Center' },
      { id: 's/b', returnTo: 'Parent' },
    ]);
  });
});
