import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { customKind } from '../../../../../core/apiserver/crd/custom-kind.ts';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import { board, boards, prepared } from './support.ts';

const string: SchemaProps = { type: 'string' };

describe('unknown fields', () => {
  it('are removed, and reported by their paths', () => {
    const schema: SchemaProps = {
      type: 'object',
      properties: { name: string, list: { type: 'array', items: { type: 'object', properties: { image: string } } } },
    };
    expect(prepared(schema, { nmae: 'x', name: 'y', list: [{ image: 'a', imag: 'b' }] })).toEqual({
      spec: { name: 'y', list: [{ image: 'a' }] },
      unknown: ['spec.nmae', 'spec.list[0].imag'],
    });
  });

  it('stay below x-kubernetes-preserve-unknown-fields, but go from the parts that the schema describes', () => {
    const schema: SchemaProps = {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { known: { type: 'object', properties: { a: string } } },
    };
    expect(prepared(schema, { other: { x: 1 }, known: { a: 'a', b: 'b' } })).toEqual({
      spec: { other: { x: 1 }, known: { a: 'a' } },
      unknown: ['spec.known.b'],
    });
  });

  it('are found in the values of maps', () => {
    const schema: SchemaProps = { type: 'object', additionalProperties: { type: 'object', properties: { a: string } } };
    expect(prepared(schema, { one: { a: 'a', z: 1 } })).toEqual({ spec: { one: { a: 'a' } }, unknown: ['spec.one.z'] });
  });

  it('are removed from metadata and from the root', () => {
    const object = { ...board({}), metadata: { name: 'b', lables: {} }, statsu: {} };
    expect(customKind(boards({ type: 'object' })).rules.prepare(object, 'v1')).toEqual(['metadata.lables', 'statsu']);
  });

  it('are found in an embedded resource, but not apiVersion, kind and metadata', () => {
    const schema: SchemaProps = {
      type: 'object',
      properties: {
        template: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
      },
    };
    const template = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', labels: { a: 'b' } }, spec: {} };
    expect(prepared(schema, { template: { ...template, extra: 1 } })).toEqual({
      spec: { template },
      unknown: ['spec.template.extra'],
    });
  });
});

describe('a null', () => {
  it('goes where null is no value, also from maps, but not from lists', () => {
    const schema: SchemaProps = {
      type: 'object',
      properties: {
        text: string,
        list: { type: 'array', items: string },
        map: { type: 'object', additionalProperties: string },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        known: { ...string, nullable: true },
      },
    };
    const spec = { text: null, list: [null], map: { a: null, b: 'b' }, free: { a: null }, known: null };
    expect(prepared(schema, spec)).toEqual({
      spec: { list: [null], map: { b: 'b' }, free: { a: null }, known: null },
      unknown: [],
    });
    expect(prepared(schema, { list: null, map: null, free: null }).spec).toEqual({});
  });

  it('becomes the default of the items of a list, or of the values of a map', () => {
    const items: SchemaProps = { ...string, default: 'd' };
    const schema: SchemaProps = {
      type: 'object',
      properties: { list: { type: 'array', items }, map: { type: 'object', additionalProperties: items } },
    };
    expect(prepared(schema, { list: [null, 'a'], map: { a: null } }).spec).toEqual({
      list: ['d', 'a'],
      map: { a: 'd' },
    });
  });
});

describe('defaults', () => {
  const schema: SchemaProps = {
    type: 'object',
    properties: {
      seconds: { type: 'integer', default: 30 },
      mode: { type: 'string', nullable: true, default: 'x' },
      part: { type: 'object', default: {}, properties: { size: { type: 'integer', default: 1 } } },
      list: { type: 'array', items: { type: 'object', properties: { protocol: { type: 'string', default: 'TCP' } } } },
    },
  };

  it('are filled in, on all levels, also into a default', () => {
    expect(prepared(schema, { list: [{}] }).spec).toEqual({
      seconds: 30,
      mode: 'x',
      part: { size: 1 },
      list: [{ protocol: 'TCP' }],
    });
  });

  it('replace a null where null is not allowed', () => {
    expect(prepared(schema, { seconds: null, mode: null }).spec).toMatchObject({ seconds: 30, mode: null });
  });

  it('are not shared between objects', () => {
    const kind = customKind(boards(schema));
    const [first, second] = [board({}), board({})];
    for (const object of [first, second]) kind.rules.prepare(object, 'v1');
    (first.spec as { part: { size: number } }).part.size = 9;
    expect(second.spec).toMatchObject({ part: { size: 1 } });
  });

  it('and pruning change nothing the second time', () => {
    fc.assert(
      fc.property(
        fc.object({ key: fc.constantFrom('seconds', 'mode', 'part', 'size', 'list', 'x'), maxDepth: 3 }),
        (spec) => {
          const once = prepared(schema, spec);
          expect(prepared(schema, once.spec)).toEqual({ spec: once.spec, unknown: [] });
        },
      ),
    );
  });
});
