/** Answers in protobuf over a real connection. test/long/protobuf-as-kubernetes compares the bytes with those of a real API server. */
import type { ClientHttp2Stream } from 'node:http2';
import { expect, it, vi } from 'vitest';
import { BodyThread } from '../../../../../core/apiserver/http/body-thread.ts';
import { decodeProtobuf } from '../../../../../core/apiserver/protobuf/decode.ts';
import { encodeProtobuf } from '../../../../../core/apiserver/protobuf/encode.ts';
import { FieldBudget, wireFields } from '../../../../../core/apiserver/protobuf/wire-reader.ts';
import { ApiBench } from './api-bench.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
const configMaps = '/api/v1/namespaces/default/configmaps';
const placements = '/apis/edge.banyan.io/v1alpha1/edgeplacements';
const metadataOnly = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

const configMap = (name: string, data: object = { a: 'b' }) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

async function withObjects(): Promise<ApiBench> {
  const api = await ApiBench.start();
  await api.call('POST', '/api/v1/namespaces', {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } },
  });
  await api.call('POST', configMaps, { body: configMap('one') });
  await api.call('POST', configMaps, { body: configMap('two') });
  const placement = { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'EdgePlacement', metadata: { name: 'north' } };
  await api.call('POST', placements, { body: { ...placement, spec: { locationSelectors: [{}] } } });
  return api;
}

it.each([
  ['an object', `${configMaps}/one`, ''],
  ['a list', configMaps, ''],
  ['a page of a list', `${configMaps}?limit=1`, ''],
  ['an empty list', '/api/v1/secrets', ''],
  ['the metadata of an object', `${configMaps}/one`, `;${metadataOnly}`],
  ['the metadata of a list', configMaps, `;${metadataOnly.replace('Metadata;', 'MetadataList;')}`],
  ['the metadata of custom resources', `${placements}/north`, `;${metadataOnly}`],
  ['a Status', `${configMaps}/none`, ''],
])('%s has the fields of the JSON', async (_, path, form) => {
  await using api = await withObjects();
  const [json, bytes] = [
    await api.call('GET', path, { accept: `application/json${form}` }),
    await api.call('GET', path, { accept: `${protobuf}${form}` }),
  ];
  expect([json.type, bytes.type, bytes.status]).toEqual(['application/json', protobuf, json.status]);
  const untimed = (text: string) => text.replace(/"continue":"[^"]*"/, '');
  if (path.includes('limit')) expect(bytes.text).toContain('one');
  else expect(bytes.bytes.equals(encodeProtobuf(JSON.parse(untimed(json.text)))!)).toBe(true);
});

it('a long answer gets its protobuf in the other thread', async () => {
  await using api = await withObjects();
  await api.call('POST', configMaps, { body: configMap('long', { text: 'x'.repeat(70_000) }) });
  const inThread = vi.spyOn(BodyThread.prototype, 'encode');
  const [long, short] = [
    await api.call('GET', `${configMaps}/long`, { accept: protobuf }),
    await api.call('GET', `${configMaps}/one`, { accept: protobuf }),
  ];
  expect([inThread.mock.calls.length, long.type, short.type]).toEqual([1, protobuf, protobuf]);
  const json = await api.call('GET', `${configMaps}/long`, { accept: 'application/json' });
  expect(long.bytes.equals(encodeProtobuf(JSON.parse(json.text))!)).toBe(true);
});

it('answers to writes are in protobuf too', async () => {
  await using api = await withObjects();
  const made = await api.call('POST', configMaps, { body: configMap('three'), accept: protobuf });
  expect([made.status, made.type]).toEqual([201, protobuf]);
  expect(decodeProtobuf(made.bytes)).toMatchObject({
    kind: 'ConfigMap',
    metadata: { name: 'three' },
    data: { a: 'b' },
  });
  const removed = await api.call('DELETE', `${configMaps}/three`, { accept: protobuf });
  expect(decodeProtobuf(removed.bytes)).toMatchObject({ kind: 'Status', status: 'Success' });
});

it('custom resources are JSON for a client that reads JSON, and 406 for another one', async () => {
  await using api = await withObjects();
  const both = await api.call('GET', `${placements}/north`, { accept: `${protobuf},application/json` });
  expect([both.status, both.type]).toEqual([200, 'application/json']);
  for (const path of [`${placements}/north`, placements, `${placements}?watch=true`]) {
    const only = await api.call('GET', path, { accept: protobuf });
    expect([only.status, only.type]).toEqual([406, protobuf]);
    expect(decodeProtobuf(only.bytes)).toMatchObject({ kind: 'Status', reason: 'NotAcceptable' });
  }
});

it('a list of many bytes is JSON for a client that reads JSON, and refused with a remedy for another one', async () => {
  await using api = await withObjects();
  for (let i = 0; i < 9; i++) {
    const { status } = await api.call('POST', configMaps, {
      body: configMap(`large-${i}`, { a: 'x'.repeat(1_000_000) }),
    });
    expect(status).toBe(201);
  }
  const both = await api.call('GET', configMaps, { accept: `${protobuf},application/json` });
  expect([both.status, both.type]).toEqual([200, 'application/json']);
  const only = await api.call('GET', configMaps, { accept: protobuf });
  expect([only.status, only.type]).toEqual([413, protobuf]);
  expect(only.text).toContain('list in chunks (limit), or accept application/json');
  const page = await api.call('GET', `${configMaps}?limit=2`, { accept: protobuf });
  expect([page.status, page.type]).toEqual([200, protobuf]);
});

it('a watch sends events with their lengths, also bookmarks and errors', async () => {
  await using api = await withObjects();
  const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const stream = api.open('GET', `${configMaps}?${query}`, { accept: protobuf }, true);
  const events = await firstEvents(stream, 3);
  stream.close();
  expect(events).toMatchObject([
    { type: 'ADDED', object: { kind: 'ConfigMap', metadata: { name: 'one' }, data: { a: 'b' } } },
    { type: 'ADDED', object: { metadata: { name: 'two' } } },
    { type: 'BOOKMARK', object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } } },
  ]);
});

it.each(['PartialObjectMetadata', 'PartialObjectMetadataList'])(
  'a watch of %s of custom resources has bookmarks too',
  async (as) => {
    await using api = await withObjects();
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const stream = api.open(
      'GET',
      `${placements}?${query}`,
      { accept: `${protobuf};as=${as};g=meta.k8s.io;v=v1` },
      true,
    );
    const events = await firstEvents(stream, 2);
    stream.close();
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
  },
);

async function firstEvents(stream: ClientHttp2Stream, count: number): Promise<{ type: string; object: unknown }[]> {
  const events: { type: string; object: unknown }[] = [];
  let head: string | undefined;
  stream.once('response', (headers) => {
    head = String(headers['content-type']);
  });
  let rest = Buffer.alloc(0);
  for await (const part of stream) {
    rest = Buffer.concat([rest, part as Buffer]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE()) {
      const end = 4 + rest.readUInt32BE();
      events.push(eventIn(rest.subarray(4, end)));
      rest = rest.subarray(end);
    }
    if (events.length >= count) break;
  }
  expect(head).toBe(`${protobuf};stream=watch`);
  return events;
}

function eventIn(bytes: Buffer): { type: string; object: unknown } {
  const fields = (message: Buffer) => [...wireFields(message, new FieldBudget(10, () => new Error('too many')))];
  const [type, object] = fields(bytes);
  const encoded = fields(object!.bytes)[0]!.bytes;
  // The reader has no partial metadata: no client sends any.
  const isPartial = encoded.includes('PartialObjectMetadata');
  return { type: type!.bytes.toString(), object: isPartial ? undefined : decodeProtobuf(encoded) };
}
