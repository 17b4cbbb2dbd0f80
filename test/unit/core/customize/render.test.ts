import { describe, expect, it } from 'vitest';
import type { CustomizerSpec } from '../../../../core/customize/customizer.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { configMap, deployment, failure, rendered, shop } from './support.ts';

const patch = (...items: object[]): CustomizerSpec => ({ rules: [{ patch: items }] });
const replacing = (path: string, value: string | number): CustomizerSpec => ({ replacements: [{ path, value }] });

describe('a JSON patch', () => {
  it('accepts a value with expressions', () => {
    const value = 'Welcome to ${{ location.metadata.annotations["store-name"] }}';
    expect(rendered(configMap({ text: '' }), patch({ op: 'replace', path: '/data/text', value })).object.data).toEqual({
      text: 'Welcome to Rivoli',
    });
  });

  it('keeps the type of a value that is one expression and nothing else', () => {
    const value = '${{ int(properties.tills) + 1 }}';
    const { object } = rendered(deployment(), patch({ op: 'replace', path: '/spec/replicas', value }));
    expect(object.spec).toMatchObject({ replicas: 4 });
  });

  it('is applied in order: move, copy, test, remove', () => {
    const spec = patch(
      { op: 'copy', from: '/data/a', path: '/data/b' },
      { op: 'move', from: '/data/a', path: '/data/c' },
      { op: 'test', path: '/data/b', value: 'x' },
      { op: 'remove', path: '/data/d' },
    );
    expect(rendered(configMap({ a: 'x', d: 'y' }), spec).object.data).toEqual({ b: 'x', c: 'x' });
  });

  it('that does not apply is a failure that names the operation', () => {
    const spec = patch({ op: 'add', path: '/data/a', value: '1' }, { op: 'remove', path: '/data/missing' });
    expect(failure(configMap({}), spec)).toMatch(
      /^Customizer shop\/greet: spec\.rules\[0\]\.patch\[1\]: remove operation does not apply: doc is missing path: \/data\/missing/,
    );
  });

  it('whose test fails is a failure', () => {
    expect(failure(configMap({ a: 'x' }), patch({ op: 'test', path: '/data/a', value: 'y' }))).toContain('test failed');
  });
});

describe('a strategic merge patch', () => {
  it('merges containers by their names in known kinds', () => {
    const containers = [{ name: 'till', image: 'till:${{ properties.tills }}' }];
    const { object } = rendered(deployment(), patch({ merge: { spec: { template: { spec: { containers } } } } }));
    const { template } = object.spec as { template: { spec: { containers: object[] } } };
    expect(template.spec.containers).toEqual([
      { name: 'till', image: 'till:3' },
      { name: 'log', image: 'log:1' },
    ]);
  });

  it('removes fields with null', () => {
    expect(rendered(configMap({ a: 'x', b: 'y' }), patch({ merge: { data: { a: null } } })).object.data).toEqual({
      b: 'y',
    });
  });

  it('replaces lists in unknown kinds', () => {
    const board = { apiVersion: 'shop.example.com/v1', kind: 'Board', metadata: { name: 'b' }, spec: { rows: [1, 2] } };
    const { object } = rendered(board, patch({ merge: { spec: { rows: ['${{ size(path) }}'] } } }));
    expect(object.spec).toEqual({ rows: ['eu:paris:store-1'.length] });
  });
});

describe('a replacement', () => {
  it('sets every field that its path leads to', () => {
    const path = '$.spec.template.spec.containers[*].image';
    const { object } = rendered(deployment(), replacing(path, 'registry.${{ location.metadata.labels.region }}/all'));
    const { template } = object.spec as { template: { spec: { containers: object[] } } };
    expect(template.spec.containers).toMatchObject([{ image: 'registry.eu/all' }, { image: 'registry.eu/all' }]);
  });

  it.each([
    ['$.spec.template.spec.containers[?(@.name=="log")].image', 1],
    ['$.spec.template.spec.containers[1].image', 1],
  ])('follows %s', (path, index) => {
    const { template } = rendered(deployment(), replacing(path, 'new')).object.spec as {
      template: { spec: { containers: { image: string }[] } };
    };
    expect(template.spec.containers.map(({ image }) => image === 'new')).toEqual([false, index === 1]);
  });

  it('adds a name at the end of its path', () => {
    expect(rendered(configMap({}), replacing("$.data['a.b']", 'x')).object.data).toEqual({ 'a.b': 'x' });
  });

  it('without a match is a failure that names its path', () => {
    expect(failure(configMap({}), replacing('$.spec.replicas', 2))).toBe(
      'Customizer shop/greet: spec.replacements[0].path: $.spec.replicas leads to nothing in this object',
    );
  });
});

describe('a rule', () => {
  const when = (condition: string): CustomizerSpec => ({
    rules: [{ when: condition, patch: [{ op: 'add', path: '/data/a', value: 'x' }] }],
  });

  it('is applied where its condition is true', () => {
    expect(rendered(configMap({}), when('location.metadata.labels.env == "prod"')).object.data).toEqual({ a: 'x' });
    expect(rendered(configMap({}), when('location.metadata.labels.env == "test"')).object.data).toEqual({});
  });

  it('whose condition gives no bool is a failure', () => {
    expect(failure(configMap({}), when('location.metadata.name'))).toContain(
      'spec.rules[0].when: must give true or false',
    );
  });

  it('whose condition reads a missing value is a failure', () => {
    expect(failure(configMap({}), when('location.metadata.labels.tier == "store"'))).toBe(
      'Customizer shop/greet: spec.rules[0].when: no such key: tier',
    );
    expect(rendered(configMap({}), when('has(location.metadata.labels.tier)')).object.data).toEqual({});
    expect(rendered(configMap({}), when('"tier" in location.metadata.labels')).object.data).toEqual({});
  });

  it.each([
    [{ kind: 'ConfigMap' }, true],
    [{ kind: 'Deployment' }, false],
    [{ group: '' }, true],
    [{ group: 'apps' }, false],
    [{ name: 'greeting' }, true],
    [{ name: 'other' }, false],
    [{ labelSelector: { matchLabels: { role: 'sign' } } }, true],
    [{ labelSelector: { matchLabels: { role: 'till' } } }, false],
    [{ kind: 'ConfigMap', name: 'other' }, false],
    [{}, true],
  ])('for the target %j is applied: %s', (target, holds) => {
    const object = configMap({}, { labels: { role: 'sign' } });
    const spec = { rules: [{ target, patch: [{ op: 'add', path: '/data/a', value: 'x' }] }] };
    expect(rendered(object, spec).object.data).toEqual(holds ? { a: 'x' } : {});
  });

  it('reads the object as the former rules have changed it, and not its own changes', () => {
    const count = { op: 'add', path: '/data/b', value: '${{ string(size(object.data)) }}' };
    const add = { op: 'add', path: '/data/a', value: 'x' };
    expect(rendered(configMap({}), { rules: [{ patch: [add, count] }] }).object.data).toEqual({ a: 'x', b: '0' });
    expect(rendered(configMap({}), { rules: [{ patch: [add] }, { patch: [count] }] }).object.data).toEqual({
      a: 'x',
      b: '1',
    });
  });

  it('comes before replacements, and one Customizer before the next', () => {
    const first = {
      ...patch({ op: 'add', path: '/data/a', value: 'rule' }),
      ...replacing('$.data.b', '${{ object.data.a }}'),
    };
    const second = replacing('$.data.c', '${{ object.data.b }}');
    expect(rendered(configMap({}), [first, second]).object.data).toEqual({ a: 'rule', b: 'rule', c: 'rule' });
  });
});

describe('the resulting object', () => {
  it.each([
    [
      { op: 'replace', path: '/metadata/name', value: 'other' },
      'metadata.name: was changed from "greeting" to "other"',
    ],
    [{ op: 'remove', path: '/metadata/namespace' }, 'metadata.namespace: was changed from "shop"'],
    [{ op: 'replace', path: '/kind', value: 'Secret' }, 'kind: was changed from "ConfigMap" to "Secret"'],
    [{ op: 'replace', path: '/apiVersion', value: 'v2' }, 'apiVersion: was changed from "v1" to "v2"'],
    [{ op: 'replace', path: '/metadata', value: 1 }, 'metadata: is no object'],
    [{ op: 'add', path: '/metadata/labels', value: { a: 1 } }, 'metadata.labels[a]: must be a text, is 1'],
    [{ op: 'add', path: '/metadata/labels', value: 1 }, 'metadata.labels: must be an object of texts'],
  ])('of %j is refused', (item, message) => {
    expect(failure(configMap({}), patch(item))).toContain(`the result: ${message}`);
  });

  it.each([
    [{ op: 'replace', path: '/spec/replicas', value: 'three' }, 'spec.replicas'],
    [{ op: 'replace', path: '/spec/replicas', value: -1 }, 'spec.replicas'],
    [{ op: 'replace', path: '/spec/selector/matchLabels/app', value: 'other' }, 'spec.template.metadata.labels'],
    [{ op: 'add', path: '/spec/replcas', value: 2 }, 'spec.replcas: a Deployment has no such field'],
  ])('must be valid for its kind, as far as the node knows the kind: %j', (item, message) => {
    expect(failure(deployment(), patch(item))).toContain(message);
  });

  it('names the field of a text that is a number', () => {
    const message = failure(configMap({}), patch({ merge: { data: { size: '${{ size(path) }}' } } }));
    expect(message).toMatch(/the result: data\.size: json: cannot unmarshal number/);
  });

  it('may keep a field that its kind does not know', () => {
    const object = { ...configMap({}), colour: 'red' };
    expect(rendered(object, patch({ op: 'add', path: '/data/a', value: 'x' })).object.colour).toBe('red');
  });

  it('of more than 1.5 MiB is refused', () => {
    // The data of a ConfigMap have a limit of their own, so the large part is in annotations.
    const object = { ...configMap({}), metadata: { name: 'c', annotations: { a: 'x'.repeat(900_000) } } };
    expect(
      failure(object, patch({ op: 'copy', from: '/metadata/annotations/a', path: '/metadata/annotations/b' })),
    ).toMatch(/has \d+ bytes, the limit is 1572864/);
  });

  it('can get a label and an annotation, even its first ones', () => {
    const spec: CustomizerSpec = {
      ...patch({ op: 'add', path: '/metadata/labels/a', value: '${{ "b" in object.metadata.labels ? "b" : "none" }}' }),
      ...replacing("$.metadata.annotations['x.io/a']", 'b'),
    };
    expect(rendered(configMap({}), spec).object.metadata).toEqual({
      name: 'greeting',
      namespace: 'shop',
      labels: { a: 'none' },
      annotations: { 'x.io/a': 'b' },
    });
    expect(rendered(configMap({}), { rules: [] }).object.metadata).toEqual({ name: 'greeting', namespace: 'shop' });
  });

  it('has neither a status nor fields that belong to a space', () => {
    const spec = patch({ op: 'add', path: '/status', value: {} }, { op: 'add', path: '/metadata/uid', value: 'x' });
    const { object } = rendered({ apiVersion: 'x.io/v1', kind: 'X', metadata: { name: 'x' } }, spec);
    expect(object).toEqual({ apiVersion: 'x.io/v1', kind: 'X', metadata: { name: 'x' } });
  });

  it('has the same bytes for the same input', () => {
    const spec = patch({ merge: { data: { z: '${{ path }}', a: '1' } } });
    const [a, b] = [rendered(configMap({}), spec), rendered(configMap({}), spec)].map(({ outcome }) => outcome);
    expect(a).toEqual(b);
    expect('body' in a! && asText(a.body)).toContain('{"metadata":{');
  });
});

describe('the cost of an object', () => {
  it('is limited for all its expressions together', () => {
    const loop =
      '${{ string([1,2,3,4,5,6,7,8,9,0].map(a, [1,2,3,4,5,6,7,8,9,0].map(b, [1,2,3,4,5,6,7,8,9,0].map(c, [1,2,3,4,5,6,7,8,9,0].map(d, a+b+c+d)))).size()) }}';
    const item = { op: 'add', path: '/data/a', value: loop };
    expect(rendered(configMap({}), patch(item)).object.data).toEqual({ a: '10' });
    const many = patch(...Array.from({ length: 30 }, () => item));
    expect(failure(configMap({}), many)).toMatch(
      /spec\.rules\[0\]\.patch\[\d+\]\.value: expression exceeds its cost limit/,
    );
  });

  it('is limited when an object doubles itself again and again', () => {
    const copies = Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '/data', path: `/data/${i}` }));
    expect(failure(configMap({ a: 'x'.repeat(1000) }), patch(...copies))).toContain(
      'characters would be put into one object',
    );
  });

  it('is limited when one value is inserted in many places', () => {
    const rows = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`row-${i}`, '']));
    const message = failure(configMap(rows), replacing('$.data.*', 'x'.repeat(10_000)));
    expect(message).toContain('characters would be put into one object');
  });

  it('is limited when a short expression names a large value many times', () => {
    const facts = shop({ annotations: { big: 'x'.repeat(200_000) } });
    const value = `\${{ [${Array.from({ length: 100 }, () => 'location').join(', ')}] }}`;
    expect(failure(configMap({}), patch({ op: 'add', path: '/data/a', value }), facts)).toContain(
      'characters would be put into one object',
    );
  });
});
