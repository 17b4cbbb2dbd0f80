import { describe, expect, it } from 'vitest';
import { checkCustomizer } from '../../../../../core/apiserver/kinds/customizer-admission.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { placement, refusal, testSpace } from './space-support.ts';

const customizer = (spec: object): KubeObject => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'Customizer',
  metadata: { name: 'greet', namespace: 'shop' },
  spec,
});

function refused(spec: object): string {
  const { space } = testSpace();
  return refusal(() => space.create(customizer(spec))).message;
}

describe('a Customizer', () => {
  it('is kept in the namespace of its team', () => {
    const { space } = testSpace();
    const made = space.create(customizer({ replacements: [{ path: '$.data.a', value: '${{ path }}' }] }));
    expect(made.metadata).toMatchObject({ namespace: 'shop', generation: 1 });
  });

  it('keeps values of any type as they are', () => {
    const value = { a: [1, 'b', { c: true }], d: {} };
    const { space } = testSpace();
    const made = space.create(
      customizer({ rules: [{ patch: [{ op: 'add', path: '/data', value }, { merge: { e: value } }] }] }),
    );
    expect(made.spec).toEqual({ rules: [{ patch: [{ op: 'add', path: '/data', value }, { merge: { e: value } }] }] });
  });

  it('with expressions that do not compile is refused, with their fields', () => {
    expect(refused({ replacements: [{ path: '$.data.a', value: '${{ place.name }}' }] })).toMatch(
      /^Customizer\.edge\.banyan\.io "greet" is invalid: spec\.replacements\[0\]\.value: Invalid value: "\$\{\{ place\.name \}\}": compilation failed: .*place/,
    );
  });

  it.each([
    [
      { replacements: [{ path: '$.metadata.name', value: 'x' }] },
      'spec.replacements[0].path: Forbidden: $.metadata.name',
    ],
    [
      { rules: [{ patch: [{ op: 'replace', path: '/kind', value: 'Secret' }] }] },
      'spec.rules[0].patch[0].path: Forbidden',
    ],
    [{ rules: [{ patch: [{ op: 'remove', path: '/metadata/namespace' }] }] }, 'spec.rules[0].patch[0].path: Forbidden'],
    [
      { rules: [{ patch: [{ op: 'move', from: '/metadata/name', path: '/data/name' }] }] },
      'spec.rules[0].patch[0].from: Forbidden: /metadata/name would make another object',
    ],
  ])('that changes the identity of an object is refused: %j', (spec, message) => {
    expect(refused(spec)).toContain(message);
  });

  it.each([
    [{ rules: [{ patch: [{ op: 'test', path: '/kind', value: 'ConfigMap' }] }] }],
    [{ rules: [{ patch: [{ op: 'copy', from: '/metadata/name', path: '/data/name' }] }] }],
    [{ rules: [{ patch: [{ merge: { kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: '1' } } }] }] }],
    [{ replacements: [{ path: '$.metadata.labels.name', value: 'x' }] }],
  ])('may test the identity of an object, and repeat it unchanged: %j', (spec) => {
    expect(testSpace().space.create(customizer(spec)).metadata.generation).toBe(1);
  });

  it.each([
    [{ kind: 'ConfigMap' }, { kind: 'Secret' }, 'merge.kind: Forbidden: "Secret" would make another object'],
    [{ name: 'a' }, { metadata: { name: 'b' } }, 'merge.metadata.name: Forbidden: "b" would make another object'],
    [{ group: 'apps' }, { apiVersion: 'batch/v1' }, 'merge.apiVersion: Forbidden: "batch/v1"'],
    [{}, { kind: null }, 'merge.kind: Forbidden: null would make another object'],
    [{}, { metadata: { namespace: null } }, 'merge.metadata.namespace: Forbidden: null'],
    [{}, { metadata: null }, 'merge.metadata: Forbidden: null'],
    [{}, { metadata: { $patch: 'replace', labels: {} } }, 'merge.metadata.$patch: Forbidden: replace'],
    [{}, { $patch: 'delete' }, 'merge.$patch: Forbidden: delete'],
  ])('that merges another identity into an object of target %j is refused: %j', (target, merge, message) => {
    expect(refused({ rules: [{ target, patch: [{ merge }] }] })).toContain(`spec.rules[0].patch[0].${message}`);
  });

  it.each([
    [{ kind: 'ConfigMap' }, { kind: 'ConfigMap', metadata: { name: 'any' } }],
    [{ group: '' }, { apiVersion: 'v1' }],
    [{ name: 'a' }, { metadata: { name: '${{ object.metadata.name }}' } }],
  ])('for a target %j may merge the same identity: %j', (target, merge) => {
    const made = testSpace().space.create(customizer({ rules: [{ target, patch: [{ merge }] }] }));
    expect(made.metadata.generation).toBe(1);
  });

  it.each([
    [
      (value: string) => ({ replacements: [{ path: '$.data.a', value: `\${{ ${value} ? "a" : "b" }}` }] }),
      'spec.replacements[0].value',
    ],
    [(when: string) => ({ rules: [{ when, patch: [{ merge: {} }] }] }), 'spec.rules[0].when'],
    [
      (value: string) => ({ rules: [{ patch: [{ merge: { data: { a: `\${{ ${value} ? "a" : "b" }}` } } }] }] }),
      'spec.rules[0].patch[0].merge.data.a',
    ],
  ])('with nested loops over all properties is refused with field and remedy: %o', (spec, field) => {
    const dear = 'properties.all(a, properties.all(b, properties.all(c, a + b + c != "x")))';
    const message = refused(spec(dear));
    expect(message).toContain(`${field}: Invalid value`);
    expect(message).toContain(
      'costs too much at a destination with 256 labels and 256 properties; use fewer nested loops',
    );
    const { space } = testSpace();
    expect(space.create(customizer(spec('properties.all(a, a != "x")'))).metadata.generation).toBe(1);
  });

  it('compiles a bounded number of expressions, however many are too costly', () => {
    const dear = 'properties.all(a, properties.all(b, properties.all(c, a + b + c != "x")))';
    const rules = Array.from({ length: 64 }, () => ({ when: dear, patch: [{ merge: {} }] }));
    expect(refused({ rules }).match(/costs too much/g)).toHaveLength(4);
  });

  it('that an older version accepted can still be edited, except for its invalid field', () => {
    const old = { ...customizer({ rules: [{ patch: [{ merge: { kind: null } }] }] }) };
    const labelled = { ...old, metadata: { ...old.metadata, labels: { a: 'b' } } };
    expect(checkCustomizer(labelled, old)).toEqual([]);
    expect(checkCustomizer(labelled, undefined)).toHaveLength(1);
  });

  it.each([
    [{ rules: [{ patch: [] }] }, 'spec.rules[0].patch'],
    [{ rules: [{}] }, 'spec.rules[0].patch: Required value'],
    [{ rules: [{ patch: [{ path: '/a' }] }] }, 'an item has either op or merge'],
    [{ rules: [{ patch: [{ op: 'remove', path: '/a', merge: {} }] }] }, 'an item has either op or merge'],
    [{ rules: [{ patch: [{ merge: 'text' }] }] }, 'spec.rules[0].patch[0].merge'],
    [{ replacements: [{ path: '$.a' }] }, 'spec.replacements[0].value: Required value'],
    [{ replacements: [{ path: '$..a', value: 1 }] }, 'is not a JSONPath to a field'],
    [
      {
        rules: [
          { target: { labelSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } }, patch: [{ merge: {} }] },
        ],
      },
      'Unsupported value: "Near"',
    ],
  ])('with %j is refused', (spec, message) => {
    expect(refused(spec)).toContain(message);
  });
});

describe('a placement', () => {
  const using = (...customizers: string[]) =>
    placement({
      locationSelectors: [{ matchLabels: {} }],
      downsync: [{ apiGroup: '', resources: ['configmaps'], customizers }],
    });

  it('may name Customizers that do not exist yet', () => {
    const { space } = testSpace();
    expect(space.create(using('later', 'shop/greet')).metadata.generation).toBe(1);
  });

  it.each(['a/b/c', 'Greet', 'shop/', ''])('may not name a Customizer %j', (name) => {
    const { space } = testSpace();
    expect(refusal(() => space.create(using(name))).message).toContain('write NAME or NAMESPACE/NAME of a Customizer');
  });
});
