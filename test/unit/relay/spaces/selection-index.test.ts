import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { DownsyncItem } from '../../../../core/apiserver/kinds/edge-placement.ts';
import { mayTravel } from '../../../../core/apiserver/kinds/travelling.ts';
import { type Candidate, selectingItems } from '../../../../relay/spaces/downsync.ts';
import { type Selecting, SelectionIndex, scopesOf } from '../../../../relay/spaces/selection-index.ts';

const placement = (name: string, ...items: DownsyncItem[]): Selecting => ({ name, items, namedSummarizers: [] });
const configMap = (name: string, labels = {}): Candidate => ({
  key: { group: '', resource: 'configmaps', namespace: 'shop', name },
  labels,
  namespaceLabels: {},
});
const inShop: DownsyncItem = { apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] };

const pattern = fc.constantFrom('a', 'b', 'c', '*');
const plain = fc.constantFrom('a', 'b', 'c');
const patterns = fc.array(pattern, { maxLength: 3 });
const labels = fc.dictionary(plain, plain, { maxKeys: 2 });
const requirement = fc.record({
  key: plain,
  operator: fc.constantFrom('In' as const, 'NotIn' as const, 'Exists' as const, 'DoesNotExist' as const),
  values: fc.array(plain, { maxLength: 2 }),
});
const selector = fc.record(
  { matchLabels: labels, matchExpressions: fc.array(requirement, { maxLength: 2 }) },
  { requiredKeys: [] },
);
const selectors = fc.array(selector, { maxLength: 2 });
const item: fc.Arbitrary<DownsyncItem> = fc.record(
  {
    apiGroup: pattern,
    resources: patterns,
    namespaces: patterns,
    objectNames: patterns,
    labelSelectors: selectors,
    namespaceSelectors: selectors,
  },
  { requiredKeys: [] },
);
const candidate: fc.Arbitrary<Candidate> = fc.record({
  key: fc.record({ group: plain, resource: plain, namespace: fc.constantFrom('', 'a', 'b'), name: plain }),
  labels,
  namespaceLabels: labels,
});
const items = fc.array(item, { maxLength: 3 });

describe('an index of selections', () => {
  let index: SelectionIndex;

  beforeEach(() => {
    index = new SelectionIndex();
  });

  it('finds the same as a query of every placement, in order of name, after any changes', () => {
    const change = fc.record({ name: fc.constantFrom('p', 'q', 'r', 's'), items: fc.option(items) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), fc.array(candidate, { maxLength: 5 }), (changes, candidates) => {
        const all = new Map<string, readonly DownsyncItem[]>();
        const found = new SelectionIndex();
        for (const { name, items: now } of changes) {
          if (now) all.set(name, now);
          else all.delete(name);
          if (now) found.set(placement(name, ...now));
          else found.delete(name);
        }
        for (const one of candidates) {
          const expected = [...all]
            .map(([name, its]) => ({ placement: name, items: selectingItems(its, one) }))
            .filter(({ items: its }) => its.length > 0)
            .sort((a, b) => (a.placement < b.placement ? -1 : 1));
          expect(found.selecting(one)).toEqual(expected);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('asks one of ten thousand placements, each of which names another object, label, namespace, kind or group', () => {
    const rules: ((i: number) => DownsyncItem)[] = [
      (i) => ({ ...inShop, objectNames: [`map-${i}`] }),
      (i) => ({ ...inShop, labelSelectors: [{ matchLabels: { app: `app-${i}` } }] }),
      (i) => ({ resources: ['*'], namespaces: [`shop-${i}`] }),
      (i) => ({ resources: [`kind-${i}`] }),
      (i) => ({ apiGroup: `group-${i}`, resources: ['*'] }),
    ];
    for (let i = 0; i < 10_000; i++) index.set(placement(`p${i}`, rules[i % rules.length]!(i)));
    for (const [asked, candidateOfOne] of [
      ['p5', configMap('map-5')],
      ['p6', configMap('x', { app: 'app-6', tier: 'front' })],
      ['p7', { ...configMap('x'), key: { ...configMap('x').key, namespace: 'shop-7' } }],
      ['p8', { ...configMap('x'), key: { ...configMap('x').key, resource: 'kind-8' } }],
      ['p9', { ...configMap('x'), key: { ...configMap('x').key, group: 'group-9' } }],
    ] as const) {
      const before = index.asked;
      expect(index.selecting(candidateOfOne).map((one) => one.placement)).toEqual([asked]);
      expect(index.asked - before).toBe(1);
    }
  });

  it('finds the objects that a rule with very long lists selects', () => {
    const many = (what: string) => Array.from({ length: 200 }, (_, i) => `${what}-${i}`);
    index.set(placement('p', { resources: many('kind'), namespaces: many('shop'), objectNames: many('map') }));
    const key = { group: 'any', resource: 'kind-7', namespace: 'shop-8', name: 'map-9' };
    expect(index.selecting({ key, labels: {} })).toHaveLength(1);
    expect(index.selecting({ key: { ...key, name: 'map' }, labels: {} })).toHaveLength(0);
  });

  it('finds the users of a summarizer, and whether anybody reads labels of namespaces', () => {
    index.set({ name: 'p', items: [], namedSummarizers: ['one', 'two'] });
    index.set(placement('q', { ...inShop, namespaceSelectors: [] }));
    expect([[...index.naming('one')], index.readsNamespaceLabels]).toEqual([['p'], true]);
    index.set({ name: 'p', items: [], namedSummarizers: ['two'] });
    index.delete('q');
    expect([[...index.naming('one')], [...index.naming('two')], index.readsNamespaceLabels]).toEqual([
      [],
      ['p'],
      false,
    ]);
  });
});

describe('scopes of rules', () => {
  it('contain every object that a rule selects', () => {
    fc.assert(
      fc.property(items, candidate, (rules, one) => {
        fc.pre(mayTravel(one.key) && selectingItems(rules, one).length > 0);
        const { namespace, name } = one.key;
        const has = scopesOf(rules, one.key).some(
          (scope) => (scope.namespace ?? namespace) === namespace && (scope.name ?? name) === name,
        );
        expect(has).toBe(true);
      }),
    );
  });

  it('are single objects if a rule names them, and never an object with an impossible name', () => {
    const names = ['a', 'b/c', 'd\0'];
    const configMaps = { group: '', resource: 'configmaps' };
    expect(scopesOf([{ ...inShop, objectNames: names }], configMaps)).toEqual([{ namespace: 'shop', name: 'a' }]);
    expect(scopesOf([{ ...inShop, namespaces: names }], configMaps)).toEqual([{ namespace: 'a' }]);
    expect(scopesOf([inShop], { group: 'apps', resource: 'deployments' })).toEqual([]);
    expect(scopesOf([inShop, { resources: ['*'] }], configMaps)).toEqual([{}]);
  });
});
