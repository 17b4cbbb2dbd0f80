import { beforeEach, describe, expect, it } from 'vitest';
import { boards } from '../crd/support.ts';
import { HandlerBench } from '../http/handler-bench.ts';
import { refusalOf } from '../http/handler-errors.ts';

interface Schema {
  type?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  allOf?: { $ref: string }[];
  [extension: string]: unknown;
}

interface Operation {
  parameters: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: { $ref: string } }> };
  [extension: string]: unknown;
}

interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

interface Index {
  paths: Record<string, { serverRelativeURL: string }>;
}

const pod = 'io.k8s.api.core.v1.PodSpec';

let api: HandlerBench;
beforeEach(() => {
  api = new HandlerBench();
});

function rootOf({ components }: Document, kind: string): Schema | undefined {
  return Object.values(components.schemas).find((schema) =>
    (schema['x-kubernetes-group-version-kind'] as { kind: string }[] | undefined)?.some((gvk) => gvk.kind === kind),
  );
}

/** Every `$ref` of a document. */
function refsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => (name === '$ref' ? [String(inner)] : refsOf(inner)));
}

describe('the index', () => {
  it('names the document of each group version, below the prefix of the space and with a hash', async () => {
    const { paths } = await api.get<Index>('/openapi/v3');
    for (const path of ['api/v1', 'apis/apps/v1', 'apis/edge.banyan.io/v1alpha1']) {
      expect(paths[path]?.serverRelativeURL).toMatch(
        new RegExp(`^/spaces/retail/openapi/v3/${path.replaceAll('.', '\\.')}\\?hash=[0-9A-F]{32}$`),
      );
    }
  });

  it('leads only to existing documents', async () => {
    const { paths } = await api.get<Index>('/openapi/v3');
    for (const { serverRelativeURL } of Object.values(paths)) {
      const document = await api.get<Document>(serverRelativeURL.replace('/spaces/retail', ''));
      expect(document.openapi).toBe('3.0.0');
      expect(Object.keys(document.paths).length).toBeGreaterThan(0);
    }
  });

  it('has other hashes after a definition was added, so that clients ask again', async () => {
    const before = await api.get<Index>('/openapi/v3');
    expect(await api.get<Index>('/openapi/v3')).toEqual(before);
    api.space.create(boards({ type: 'object' }));
    api.settle();
    const after = await api.get<Index>('/openapi/v3');
    const path = 'apis/shop.example.com/v1';
    expect(before.paths).not.toHaveProperty([path]);
    const first = after.paths[path]?.serverRelativeURL;
    const definition = boards({ type: 'object', properties: { rows: { type: 'integer' } } });
    const { metadata } = api.space.get(api.space.keyOf(definition))!;
    api.space.update({ ...definition, metadata });
    api.settle();
    expect((await api.get<Index>('/openapi/v3')).paths[path]?.serverRelativeURL).not.toBe(first);
  });
});

describe('the document of a group version', () => {
  it('has only references that resolve', async () => {
    for (const path of ['/openapi/v3/api/v1', '/openapi/v3/apis/apps/v1', '/openapi/v3/apis/edge.banyan.io/v1alpha1']) {
      const document = await api.get<Document>(path);
      const refs = new Set(refsOf(document));
      expect(refs.size).toBeGreaterThan(0);
      const names = new Set(Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`));
      for (const ref of refs) expect(names).toContain(ref);
    }
  });

  it('has the operations by which kubectl recognises a kind and strict validation', async () => {
    const { paths } = await api.get<Document>('/openapi/v3/apis/apps/v1');
    const item = paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'];
    expect(Object.keys(item ?? {})).toEqual(['get', 'put', 'patch', 'delete']);
    expect(item?.patch).toMatchObject({
      'x-kubernetes-action': 'patch',
      'x-kubernetes-group-version-kind': { group: 'apps', version: 'v1', kind: 'Deployment' },
    });
    const parameters = item?.patch?.parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
    expect(parameters).toEqual(['query dryRun', 'query fieldManager', 'query fieldValidation']);
    expect(item?.put?.requestBody?.content['application/json']?.schema.$ref).toBe(
      '#/components/schemas/io.k8s.api.apps.v1.Deployment',
    );
    const { paths: cluster } = await api.get<Document>('/openapi/v3/apis/rbac.authorization.k8s.io/v1');
    expect(cluster).toHaveProperty(['/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}']);
  });

  it('describes the fields of a built-in kind, with the data for patches and server-side apply', async () => {
    const { components } = await api.get<Document>('/openapi/v3/api/v1');
    const { properties = {} } = components.schemas[pod]!;
    expect(properties.hostNetwork).toMatchObject({
      type: 'boolean',
      description: expect.stringMatching(/^Host networking/),
    });
    expect(properties.restartPolicy).toMatchObject({ enum: ['Always', 'Never', 'OnFailure'] });
    expect(properties.terminationGracePeriodSeconds).toMatchObject({ type: 'integer', format: 'int64' });
    expect(properties.nodeSelector).toMatchObject({
      type: 'object',
      additionalProperties: { type: 'string' },
      'x-kubernetes-map-type': 'atomic',
    });
    expect(properties.containers).toMatchObject({
      type: 'array',
      items: { allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.Container' }], default: {} },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'name',
    });
    expect(properties.volumes).toMatchObject({ 'x-kubernetes-patch-strategy': 'merge,retainKeys' });
    expect(components.schemas[pod]?.required).toEqual(['containers']);
    const resources = components.schemas['io.k8s.api.core.v1.ResourceRequirements']?.properties;
    const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
    expect(resources?.limits?.additionalProperties).toEqual({ $ref: `#/components/schemas/${quantity}` });
    expect(components.schemas[quantity]).toMatchObject({ oneOf: [{ type: 'string' }, { type: 'number' }] });
    const intOrString = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
    expect(components.schemas[intOrString]).toMatchObject({ format: 'int-or-string' });
    expect(components.schemas['io.k8s.api.core.v1.SecretKeySelector']).toMatchObject({
      'x-kubernetes-map-type': 'atomic',
    });
  });

  it('names the kind of a schema in the list form that kubectl explain expects', async () => {
    const document = await api.get<Document>('/openapi/v3/apis/apps/v1');
    expect(rootOf(document, 'Deployment')).toMatchObject({
      'x-kubernetes-group-version-kind': [{ group: 'apps', version: 'v1', kind: 'Deployment' }],
      properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, spec: {}, status: {} },
    });
  });

  it('describes a custom kind by the schema of its definition', async () => {
    const rows = { type: 'integer', description: 'How many.', minimum: 1 } as const;
    api.space.create(boards({ type: 'object', properties: { rows }, required: ['rows'] }));
    api.settle();
    const document = await api.get<Document>('/openapi/v3/apis/shop.example.com/v1');
    expect(document.components.schemas).toHaveProperty(['com.example.shop.v1.Board']);
    expect(rootOf(document, 'Board')).toMatchObject({
      type: 'object',
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }] },
        spec: { type: 'object', properties: { rows }, required: ['rows'] },
      },
    });
    expect(document.paths).toHaveProperty(['/apis/shop.example.com/v1/namespaces/{namespace}/boards/{name}']);
  });

  it('is NotFound for an unknown group version', async () => {
    expect((await refusalOf(api.get('/openapi/v3/apis/apps/v9'))).code).toBe('NotFound');
  });
});

describe('OpenAPI v2', () => {
  it('has for each kind the patch that older clients expect', async () => {
    const { swagger, paths } = await api.get<{ swagger: string; paths: Document['paths'] }>('/openapi/v2');
    expect(swagger).toBe('2.0');
    const { patch } = paths['/api/v1/namespaces/{namespace}/configmaps/{name}']!;
    expect(patch).toMatchObject({ 'x-kubernetes-group-version-kind': { group: '', version: 'v1', kind: 'ConfigMap' } });
    expect(patch?.parameters.map((parameter) => parameter.name)).toEqual(['dryRun', 'fieldManager', 'fieldValidation']);
    expect(paths).toHaveProperty(['/apis/edge.banyan.io/v1alpha1/edgeplacements/{name}']);
  });
});
