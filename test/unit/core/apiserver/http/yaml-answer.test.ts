/** Answers in YAML over a real connection: the content of the answer in JSON, in every form that a client can ask for. */
import { expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { BodyThread } from '../../../../../core/apiserver/http/body-thread.ts';
import { ApiBench } from './api-bench.ts';

const yaml = 'application/yaml';
const configMaps = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });

async function withObjects(): Promise<ApiBench> {
  const api = await ApiBench.start();
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } };
  await api.call('POST', '/api/v1/namespaces', { body });
  for (const name of ['one', 'two']) await api.call('POST', configMaps, { body: configMap(name, { on: 'off\n' }) });
  return api;
}

it.each([
  ['an object', `${configMaps}/one`, ''],
  ['a list', configMaps, ''],
  ['a page of a list', `${configMaps}?limit=1`, ''],
  ['an empty list', '/api/v1/secrets', ''],
  ['a list of which nothing is selected', `${configMaps}?labelSelector=a%3Db`, ''],
  ['a list of a kind with two versions', '/apis/autoscaling/v1/horizontalpodautoscalers', ''],
  ['a table', configMaps, ';as=Table;g=meta.k8s.io;v=v1'],
  ['a table of one object', `${configMaps}/one`, ';as=Table;g=meta.k8s.io;v=v1'],
  ['an empty table', '/api/v1/secrets', ';as=Table;g=meta.k8s.io;v=v1'],
  ['the metadata of a list', configMaps, ';as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'],
  ['a Status', `${configMaps}/none`, ''],
  ['the versions', '/api', ''],
  ['the groups', '/apis', ''],
  ['a group', '/apis/apps', ''],
  ['the resources of a version', '/api/v1', ''],
])('%s has the content of the JSON', async (_, path, form) => {
  await using api = await withObjects();
  const [json, text] = [
    await api.call('GET', path, { accept: `application/json${form}` }),
    await api.call('GET', path, { accept: `${yaml}${form}` }),
  ];
  expect([json.type, text.type, text.status]).toEqual(['application/json', yaml, json.status]);
  const { continue: _token, ...metadata } = (parse(text.text) as { metadata?: Record<string, unknown> }).metadata ?? {};
  const expected = JSON.parse(json.text) as { metadata?: Record<string, unknown> };
  delete expected.metadata?.continue;
  const known = expected.metadata === undefined ? {} : { metadata };
  expect({ ...(parse(text.text) as object), ...known }).toEqual(expected);
});

it('answers to writes are in YAML too', async () => {
  await using api = await withObjects();
  const made = await api.call('POST', configMaps, { body: configMap('three', { a: '1' }), accept: yaml });
  expect([made.status, made.type]).toEqual([201, yaml]);
  expect(parse(made.text)).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'three' }, data: { a: '1' } });
});

it('a long answer is written in the other thread', async () => {
  await using api = await withObjects();
  await api.call('POST', configMaps, { body: configMap('long', { text: 'x'.repeat(70_000) }) });
  const inThread = vi.spyOn(BodyThread.prototype, 'encode');
  const long = await api.call('GET', `${configMaps}/long`, { accept: yaml });
  expect([inThread.mock.calls.length, long.type]).toEqual([1, yaml]);
  expect(parse(long.text)).toMatchObject({ data: { text: 'x'.repeat(70_000) } });
});

it('a watch in YAML alone is refused', async () => {
  await using api = await withObjects();
  const refused = await api.call('GET', `${configMaps}?watch=true`, { accept: yaml });
  expect([refused.status, refused.type]).toEqual([406, yaml]);
  expect(refused.text).toContain('application/json;stream=watch');
});

it('a write whose answer the client does not read is refused before it happens', async () => {
  await using api = await withObjects();
  const refused = await api.call('POST', configMaps, { body: configMap('three', {}), accept: 'text/html' });
  expect(refused.status).toBe(406);
  expect((await api.call('GET', `${configMaps}/three`, {})).status).toBe(404);
});
