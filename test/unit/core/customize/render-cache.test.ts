import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CustomizerSpec, DestinationFacts } from '../../../../core/customize/customizer.ts';
import { stillHolds } from '../../../../core/customize/reads.ts';
import { render } from '../../../../core/customize/render.ts';
import { RenderCache } from '../../../../core/customize/render-cache.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { compiled, configMap, rendered, type Shop, shop } from './support.ts';

const textSpec = (value: string): CustomizerSpec => ({ replacements: [{ path: '$.data.text', value }] });

function through(cache: RenderCache, object: KubeObject, spec: CustomizerSpec, expands = false) {
  const input = {
    object,
    characters: 100,
    customizers: [{ name: 'c', compiled: compiled(spec) }],
    expands,
    kind: undefined,
  };
  return (facts: DestinationFacts) =>
    cache.find('key', facts) ?? cache.evaluate('key', facts, (recorder) => render(input, recorder));
}

describe('a recorded read', () => {
  it.each([
    ['${{ location.metadata.annotations["store-name"] }}', { annotations: { 'store-name': 'Other' } }],
    ['${{ location.metadata.labels.env }}', { labels: { env: 'test' } }],
    ['${{ properties.tills }}', { properties: { tills: '4' } }],
    ['${{ path }}', { path: 'us:x' }],
    ['${{ has(location.metadata.labels.tier) ? "a" : "b" }}', { labels: { tier: 'x' } }],
    ['${{ size(location.metadata.labels) }}', { labels: {} }],
    ['${{ location.metadata.labels.exists(l, l == "tier") ? "a" : "b" }}', { labels: { tier: 'x' } }],
    ['${{ syncTarget.spec.properties.tills }}', { properties: { tills: '4' } }],
  ])('by %s is invalid when its value changes', (value, change) => {
    const { recorder } = rendered(configMap({}), textSpec(value));
    expect(stillHolds(shop(), recorder.trace)).toBe(true);
    expect(stillHolds(shop(change), recorder.trace)).toBe(false);
  });

  it.each([
    '${{ location.metadata.annotations["store-name"] }}',
    '${{ "env" in location.metadata.labels ? location.metadata.labels["env"] : "" }}',
    '${{ properties["tills"] }}',
    'always the same',
  ])('by %s stays valid while only other values change', (value) => {
    const { recorder } = rendered(configMap({}), textSpec(value));
    const other: Shop = {
      name: 'another',
      path: 'us:another',
      labels: { env: 'prod', more: 'x' },
      annotations: { 'store-name': 'Rivoli', note: 'x' },
      properties: { tills: '3', more: 'x' },
    };
    expect(stillHolds(shop(other), recorder.trace)).toBe(true);
  });

  it('by expanding parameters has only the names that occur', () => {
    const { recorder } = rendered(configMap({ a: '%(region)' }), [], shop(), true);
    expect(recorder.trace.map(({ read }) => read.path.join('/'))).toEqual(['location/metadata/labels/region']);
  });
});

describe('the cache of renderings', () => {
  it('evaluates a thousand destinations with three distinct values three times', () => {
    const cache = new RenderCache();
    const at = through(cache, configMap({ text: '' }), textSpec('${{ location.metadata.annotations["store-name"] }}'));
    const names = ['Rivoli', 'Mitte', 'Market'];
    for (let i = 0; i < 1_000; i++) {
      const { outcome } = at(shop({ name: `store-${i}`, annotations: { 'store-name': names[i % 3]!, nr: `${i}` } }));
      expect('body' in outcome && Buffer.from(outcome.body).toString()).toContain(`"text":"${names[i % 3]}"`);
    }
    expect([cache.evaluations, cache.hits]).toEqual([3, 997]);
  });

  it('evaluates a condition once per answer, and the rest only where the condition holds', () => {
    const cache = new RenderCache();
    const at = through(cache, configMap({ text: '' }), {
      rules: [
        {
          when: 'location.metadata.labels.env == "prod"',
          patch: [{ op: 'add', path: '/data/a', value: '${{ path }}' }],
        },
      ],
    });
    for (let i = 0; i < 100; i++) at(shop({ path: `test-${i}`, labels: { env: 'test' } }));
    expect(cache.evaluations).toBe(1);
    for (let i = 0; i < 10; i++) at(shop({ path: `prod-${i}` }));
    expect(cache.evaluations).toBe(11);
  });

  it('keeps failures too', () => {
    const cache = new RenderCache();
    const at = through(cache, configMap({}), textSpec('${{ location.metadata.annotations.missing }}'));
    for (let i = 0; i < 10; i++) expect(at(shop({ name: `store-${i}` })).outcome).toHaveProperty('failure.message');
    expect(cache.evaluations).toBe(1);
  });

  it('stays within its bounds, and evaluates removed renderings again', () => {
    const cache = new RenderCache({ entriesMax: 20, bytesMax: 10_000 });
    const at = through(cache, configMap({ text: '' }), textSpec('${{ path }}'));
    for (let i = 0; i < 100; i++) at(shop({ path: `p-${i}` }));
    expect(cache.size.entries).toBeLessThanOrEqual(20);
    expect(cache.size.bytes).toBeLessThanOrEqual(10_000);
    at(shop({ path: 'p-99' }));
    expect(cache.evaluations).toBe(100);
    at(shop({ path: 'p-0' }));
    expect(cache.evaluations).toBe(101);
  });

  it('returns the same as an evaluation, whatever the expressions and the destinations', () => {
    const value = fc.constantFrom('a', 'b');
    const facts = fc
      .record({
        labels: fc.dictionary(fc.constantFrom('x', 'y'), value),
        properties: fc.dictionary(fc.constantFrom('x', 'y'), value),
        path: value,
      })
      .map((of) => shop(of));
    const term = fc.constantFrom(
      '"x" in location.metadata.labels',
      'location.metadata.labels.x == "a"',
      'properties.y == "b"',
      'path == "a"',
      'size(properties) > 1',
      'location.metadata.labels.exists(l, properties[l] == "a")',
      'location.metadata.labels == properties',
      'has(location.metadata.annotations.x)',
    );
    const expression = fc.array(fc.tuple(term, fc.constantFrom(' && ', ' || ')), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(expression, fc.array(facts, { minLength: 2, maxLength: 30 }), (terms, all) => {
        const source = terms.map(([one, and], i) => (i === 0 ? one : `${and}${one}`)).join('');
        const spec = textSpec(`\${{ string(${source}) }}`);
        const cache = new RenderCache({ entriesMax: 30, bytesMax: 100_000 });
        const cached = through(cache, configMap({}), spec);
        for (const one of all)
          expect(cached(one).outcome).toEqual(through(new RenderCache(), configMap({}), spec)(one).outcome);
      }),
    );
  });
});
