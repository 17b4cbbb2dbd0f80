import { BinaryReader } from '@bufbuild/protobuf/wire';
import { describe, expect, it } from 'vitest';
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { customKind } from '../../../../../core/apiserver/crd/custom-kind.ts';
import { ownKinds } from '../../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../../core/apiserver/kinds/space-kinds.ts';
import { jsonOfV2, openapiV2 } from '../../../../../core/apiserver/openapi/openapi-v2.ts';
import { encodeOpenapiV2 } from '../../../../../core/apiserver/openapi/openapi-v2-protobuf.ts';
import type { Kinds } from '../../../../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { boards } from '../crd/support.ts';

function documentOfSpace() {
  const storage = new EmbeddedStorage({ store: new MemoryStore(), name: 'test', logger: silentLogger, hook: () => {} });
  return openapiV2(new SpaceKinds(storage, [...builtinKinds(), ...ownKinds('Workload')]));
}

/** Field numbers of one message with their bytes; every field of these messages is length-delimited. */
function fieldsOf(bytes: Uint8Array): { field: number; bytes: Uint8Array }[] {
  const reader = new BinaryReader(bytes);
  const fields: { field: number; bytes: Uint8Array }[] = [];
  while (reader.pos < reader.len) {
    const [field] = reader.tag();
    fields.push({ field, bytes: reader.bytes() });
  }
  return fields;
}

const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
const inside = (bytes: Uint8Array, ...path: number[]): Uint8Array | undefined =>
  path.reduce<Uint8Array | undefined>(
    (at, field) => at && fieldsOf(at).find((found) => found.field === field)?.bytes,
    bytes,
  );

describe('OpenAPI v2', () => {
  const definitions = Object.fromEntries(documentOfSpace().definitions);

  it('has a definition for each kind, with the types of its fields', () => {
    const deployment = definitions['io.k8s.api.apps.v1.Deployment']!;
    expect(deployment.properties!.spec).toEqual({
      $ref: '#/definitions/io.k8s.api.apps.v1.DeploymentSpec',
      description: 'Specification of the desired behavior of the Deployment.',
    });
    expect(definitions['io.k8s.api.apps.v1.DeploymentSpec']!.properties!.strategy).toMatchObject({
      $ref: '#/definitions/io.k8s.api.apps.v1.DeploymentStrategy',
      'x-kubernetes-patch-strategy': 'retainKeys',
    });
    expect(deployment['x-kubernetes-group-version-kind']).toEqual([
      { group: 'apps', version: 'v1', kind: 'Deployment' },
    ]);
    expect(definitions['io.k8s.api.apps.v1.DeploymentSpec']!.properties!.replicas).toMatchObject({ type: 'integer' });
    expect(definitions['io.k8s.api.core.v1.ContainerPort']!.properties!.containerPort).toMatchObject({
      type: 'integer',
    });
    const intOrString = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
    expect(definitions['io.k8s.api.core.v1.HTTPGetAction']!.properties!.port).toMatchObject({
      $ref: `#/definitions/${intOrString}`,
    });
    expect(definitions[intOrString]).toEqual({ type: 'string', format: 'int-or-string' });
    expect(definitions['io.banyan.edge.v1alpha1.EdgePlacement']).toBeDefined();
  });

  it('refers only to its own definitions', () => {
    const names = new Set(Object.keys(definitions));
    const targets = [...JSON.stringify(definitions).matchAll(/"#\/definitions\/([^"]+)"/g)].map(([, name]) => name!);
    expect(targets.filter((name) => !names.has(name))).toEqual([]);
    expect(targets.length).toBeGreaterThan(100);
  });

  it('leaves the parts open that v2 cannot express', () => {
    const quantities = definitions['io.k8s.api.core.v1.ResourceRequirements']!.properties!.limits!;
    expect(quantities.type).toBe('object');
    expect(quantities.additionalProperties!.type).toBeUndefined();
  });

  it('has no properties for a kind that keeps unknown fields: kubectl would refuse all others in a List', () => {
    const open = customKind(boards({}));
    const schema = () => ({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
    const kinds = { all: () => [{ ...open, openapi: schema }], generation: 1 } as unknown as Kinds;
    const definition = Object.fromEntries(openapiV2(kinds).definitions)['com.example.shop.v1.Board']!;
    expect(definition).toMatchObject({ type: 'object', 'x-kubernetes-group-version-kind': [{ kind: 'Board' }] });
    expect(definition).not.toHaveProperty('properties');
  });

  it('has the same definitions as JSON, and no piece has more than one of them', () => {
    const pieces = [...jsonOfV2(documentOfSpace())];
    expect(JSON.parse(pieces.join('')).definitions).toEqual(definitions);
    expect(pieces.length).toBeGreaterThan(Object.keys(definitions).length);
  });

  it('is encoded with the field numbers of openapi.v2.Document', () => {
    const pieces = encodeOpenapiV2({
      swagger: '2.0',
      info: { title: 'Kubernetes', version: 'unversioned' },
      paths: {
        '/api/v1/things/{name}': {
          patch: {
            operationId: 'patch v1 Thing',
            parameters: [{ name: 'fieldValidation', in: 'query', type: 'string' }],
            'x-kubernetes-action': 'patch',
            'x-kubernetes-group-version-kind': { group: '', version: 'v1', kind: 'Thing' },
          },
        },
      },
      definitions: [['Thing', { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } }]],
    });
    const bytes = Buffer.concat([...pieces]);
    expect(fieldsOf(bytes).map(({ field }) => field)).toEqual([1, 2, 8, 9]);
    const patch = inside(bytes, 8, 2, 2, 8)!;
    expect(text(inside(patch, 8, 1, 2, 3, 4))).toBe('fieldValidation');
    const extensions = fieldsOf(patch)
      .filter(({ field }) => field === 13)
      .map((found) => [text(inside(found.bytes, 1)), text(inside(found.bytes, 2, 2))]);
    expect(extensions).toContainEqual([
      'x-kubernetes-group-version-kind',
      '{"group":"","version":"v1","kind":"Thing"}',
    ]);
    const thing = inside(bytes, 9, 1, 2)!;
    expect(text(inside(thing, 22, 1))).toBe('object');
    expect(text(inside(thing, 19))).toBe('size');
    expect(text(inside(thing, 25, 1, 1))).toBe('size');
    expect(text(inside(thing, 25, 1, 2, 22, 1))).toBe('integer');
  });
});
