import { describe, expect, it } from 'vitest';
import { customKind } from '../../../../../core/apiserver/crd/custom-kind.ts';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import { board, boards } from './support.ts';

function typeOf(property: SchemaProps) {
  const spec = customKind(boards({ type: 'object', properties: { x: property } }))
    .schema('v1')
    .field('spec')?.type;
  return spec?.type === 'object' ? spec.field('x')?.type : undefined;
}

describe('a structural schema as a type', () => {
  it.each<[SchemaProps, object]>([
    [
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date-time' },
    ],
    [{ 'x-kubernetes-int-or-string': true }, { type: 'intOrString' }],
    [{ 'x-kubernetes-preserve-unknown-fields': true }, { type: 'any' }],
    [
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      { type: 'any', mapType: 'granular' },
    ],
    [
      { type: 'object', additionalProperties: { type: 'integer' } },
      { type: 'map', values: { type: 'integer' }, mapType: 'granular' },
    ],
    [
      { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: {} },
      { type: 'object', mapType: 'atomic' },
    ],
    [
      { type: 'array', items: { type: 'string' } },
      { type: 'list', listType: 'atomic' },
    ],
    [
      { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      { type: 'list', listType: 'set' },
    ],
  ])('%j is %j', (schema, expected) => {
    expect(typeOf(schema)).toMatchObject(expected);
  });

  it('knows the defaults of map keys', () => {
    const items: SchemaProps = {
      type: 'object',
      required: ['port'],
      properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
    };
    const keys = ['port', 'protocol'];
    expect(
      typeOf({ type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys, items }),
    ).toMatchObject({
      listType: 'map',
      mapKeys: keys,
      mapKeyDefaults: { protocol: 'TCP' },
    });
  });

  it('has apiVersion, kind and metadata at the root', () => {
    const root = customKind(boards({ type: 'object' })).schema('v1');
    expect([...root.fields()].map(([name]) => name)).toEqual(['apiVersion', 'kind', 'metadata', 'spec']);
    expect(root.name).toBe('com.example.shop.v1.Board');
  });
});

describe('a custom kind', () => {
  it('prefers stable versions, and stores its storage version', () => {
    const definition = boards({ type: 'object' });
    const [version] = definition.spec.versions;
    definition.spec.versions = ['v1alpha1', 'v2beta1', 'v1', 'v2', 'v3alpha1', 'x1'].map((name) => ({
      ...version!,
      name,
      storage: name === 'v1',
      served: name !== 'v3alpha1',
    }));
    const kind = customKind(definition);
    expect(kind.versions).toEqual(['v2', 'v1', 'v2beta1', 'v1alpha1', 'x1']);
    expect(kind.storageVersion).toBe('v1');
    expect(
      kind.rules.convert({ apiVersion: 'shop.example.com/v1', kind: 'Board', metadata: {} }, 'v2')?.apiVersion,
    ).toBe('shop.example.com/v2');
  });

  it('has the column Age if it defines no columns', () => {
    expect(
      customKind(boards({ type: 'object' }))
        .columns('v1')
        .map(({ name }) => name),
    ).toEqual(['Age']);
  });

  it('whose schema does not compile at one place has only objects without a value there', () => {
    const kind = customKind(boards({ type: 'object', properties: { x: { type: 'string', pattern: '(' } } }));
    expect(kind.columns('v1')).toHaveLength(1);
    expect(kind.rules.validate(board({}), 'v1')).toEqual([]);
    expect(() => kind.rules.validate(board({ x: 'a' }), 'v1')).toThrow(
      'the schema of com.example.shop.v1.Board does not compile',
    );
  });

  it('compiles only the parts of its schema at which an object has values', () => {
    const read: string[] = [];
    const part = (name: string): SchemaProps => ({
      type: 'string',
      get pattern() {
        read.push(name);
        return 'a';
      },
    });
    const kind = customKind(boards({ type: 'object', properties: { x: part('x'), y: part('y') } }));
    kind.rules.prepare(board({ x: 'a' }), 'v1');
    kind.rules.validate(board({ x: 'a' }), 'v1');
    kind.rules.validate(board({ x: 'b' }), 'v1');
    expect([...new Set(read)]).toEqual(['x']);
  });
});
