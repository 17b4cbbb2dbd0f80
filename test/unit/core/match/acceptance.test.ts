import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accepts, ruledOut } from '../../../../core/match/acceptance.ts';
import type { AcceptRule } from '../../../../core/match/delivery-config.ts';
import { matchesUpsync, type UpsyncItem } from '../../../../core/match/upsync-item.ts';

const source = 'center.retail';
/** Of a small world of kinds: which are in namespaces. */
const kinds = [
  { group: '', resource: 'configmaps', namespaced: true },
  { group: '', resource: 'namespaces', namespaced: false },
  { group: 'apps', resource: 'deployments', namespaced: true },
  { group: 'rbac.authorization.k8s.io', resource: 'clusterroles', namespaced: false },
];
const isNamespaced = (resource: string) => kinds.some((kind) => kind.resource === resource && kind.namespaced);
const rule = (more: Partial<AcceptRule>): AcceptRule => ({
  source,
  namespaces: ['shop-*'],
  clusterScoped: [],
  ...more,
});

describe('what a site rules out of a rule of upsync', () => {
  it.each<[string, UpsyncItem, AcceptRule[], string[]]>([
    ['nothing of the source', { resources: ['configmaps', '*'] }, [], ['configmaps', '*']],
    ['nothing of another source', { resources: ['configmaps'] }, [rule({ source: 'eu.*' })], ['configmaps']],
    ['all namespaces, narrowed', { resources: ['configmaps'] }, [rule({})], []],
    ['no namespaces', { resources: ['configmaps'], namespaces: ['*'] }, [rule({ namespaces: [] })], ['configmaps']],
    [
      'one namespace of two',
      { resources: ['configmaps'], namespaces: ['shop-1', 'x'] },
      [rule({})],
      ['configmaps in namespace x'],
    ],
    [
      'a kind',
      { apiGroup: 'apps', resources: ['deployments'] },
      [rule({ resources: [{ apiGroup: '', resources: ['*'] }] })],
      ['deployments.apps'],
    ],
    ['cluster-scoped kinds', { resources: ['clusterroles', 'namespaces'] }, [rule({})], ['clusterroles']],
    ['a Namespace by its name', { resources: ['namespaces'], names: ['other'] }, [rule({})], ['namespaces']],
    ['a kind that the cluster does not serve: nothing', { resources: ['widgets'] }, [], []],
  ])('%s', (_what, item, accept, parts) => {
    expect(ruledOut(accept, source, item, kinds)).toEqual(parts);
    expect(ruledOut(undefined, source, item, kinds)).toEqual([]);
  });

  it('is never a kind of which the site accepts an object, and is the whole rule if it accepts none', () => {
    const name = fc.constantFrom('shop-1', 'shop-2', 'office');
    const resource = fc.constantFrom(...kinds.map((kind) => kind.resource));
    const lists = fc.array(
      fc.record({
        apiGroup: fc.constantFrom('', 'apps', '*'),
        resources: fc.array(fc.oneof(resource, fc.constant('*')), { minLength: 1, maxLength: 2 }),
      }),
      { maxLength: 2 },
    );
    const item = fc.record<UpsyncItem>(
      {
        resources: fc.uniqueArray(resource, { minLength: 1, maxLength: 2 }),
        namespaces: fc.uniqueArray(name, { minLength: 1, maxLength: 2 }),
        names: fc.array(name, { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: ['resources'] },
    );
    const accept = fc.array(
      fc.record(
        {
          source: fc.constantFrom('center.*', 'eu.ops'),
          namespaces: fc.array(fc.constantFrom('shop-*', 'office', '*'), { maxLength: 2 }),
          clusterScoped: lists,
          resources: lists,
        },
        { requiredKeys: ['source', 'namespaces', 'clusterScoped'] },
      ),
      { maxLength: 2 },
    );
    const objects = kinds.flatMap(({ group, resource: of, namespaced }) =>
      ['shop-1', 'shop-2', 'office'].flatMap((one) =>
        (namespaced ? ['shop-1', 'shop-2', 'office'] : ['']).map((namespace) => ({
          group,
          resource: of,
          namespace,
          name: one,
        })),
      ),
    );
    fc.assert(
      fc.property(item, accept, (asked, rules) => {
        const parts = ruledOut(rules, source, asked, kinds);
        for (const of of asked.resources!) {
          const taken = objects.filter(
            (key) => key.resource === of && matchesUpsync(asked, key, {}) && accepts(rules, source, key),
          );
          // Rules with namespaces take nothing that is in no namespace, with accept and without.
          if (asked.namespaces && !isNamespaced(of)) continue;
          const places = asked.namespaces ?? [undefined];
          for (const place of places) {
            const words = place === undefined ? of : `${of} in namespace ${place}`;
            const isTaken = taken.some(({ namespace }) => place === undefined || namespace === place);
            expect([words, parts.includes(words)]).toEqual([words, !isTaken]);
          }
        }
      }),
      { numRuns: 2_000, seed: 1 },
    );
  });
});
