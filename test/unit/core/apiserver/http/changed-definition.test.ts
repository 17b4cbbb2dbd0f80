/** Objects that were stored before their definition changed: readers see the defaults and fields of the present definition. */
import { beforeEach, expect, it } from 'vitest';
import type { CustomResourceDefinition, SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { boards } from '../crd/support.ts';
import { HandlerBench } from './handler-bench.ts';

const path = '/apis/shop.example.com/v1/namespaces/shop/boards';
const definitionPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const text: SchemaProps = { type: 'string' };

let api: HandlerBench;

async function define(spec: SchemaProps): Promise<void> {
  const definition: CustomResourceDefinition = boards(spec, {
    selectableFields: [{ jsonPath: '.spec.size' }],
    additionalPrinterColumns: [{ name: 'Size', type: 'string', jsonPath: '.spec.size' }],
  });
  const key = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', namespace: '' };
  const existing = api.space.get({ ...key, name: 'boards.shop.example.com' });
  if (!existing) return void (await api.call('POST', definitionPath, { body: definition }));
  const { metadata } = existing;
  await api.call('PUT', `${definitionPath}/${metadata.name}`, { body: { ...definition, metadata } });
}

const names = (list: { items: KubeObject[] }) => list.items.map(({ metadata }) => metadata.name);

beforeEach(async () => {
  api = new HandlerBench();
  await define({ type: 'object', properties: { colour: text, size: text } });
  const body = { apiVersion: 'shop.example.com/v1', kind: 'Board', metadata: { name: 'old' }, spec: { colour: 'red' } };
  await api.call('POST', path, { body });
  await define({ type: 'object', properties: { size: { ...text, default: 'M' } } });
  await api.call('POST', path, { body: { ...body, metadata: { name: 'new' }, spec: {} } });
});

it('one object, and lists', async () => {
  expect((await api.get<KubeObject>(`${path}/old`)).spec).toEqual({ size: 'M' });
  const list = await api.get<{ items: KubeObject[] }>(path);
  expect(list.items.map(({ spec }) => spec)).toEqual([{ size: 'M' }, { size: 'M' }]);
});

it('field selectors', async () => {
  expect(names(await api.get(`${path}?fieldSelector=spec.size=M`))).toEqual(['new', 'old']);
});

it('columns', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  const { rows } = (await api.call('GET', path, { headers: { accept } })).json<{ rows: { cells: string[] }[] }>();
  expect(rows.map(({ cells }) => cells[1])).toEqual(['M', 'M']);
});

it('a write of the status of a definition changes nothing', async () => {
  const kind = api.space.kinds.byResource({ group: 'shop.example.com', resource: 'boards' })!;
  const key = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', namespace: '' };
  const { metadata } = api.space.get({ ...key, name: 'boards.shop.example.com' })!;
  await api.call('PATCH', `${definitionPath}/${metadata.name}`, {
    body: { metadata: { labels: { a: 'b' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  const after = api.space.kinds.byResource({ group: 'shop.example.com', resource: 'boards' })!;
  expect(after.definedAt).toBe(kind.definedAt);
});
