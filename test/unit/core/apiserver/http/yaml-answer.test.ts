/** Answers in YAML: every value is read back as it was, and over a real connection, an answer has the content of the answer in JSON. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { BodyThread } from '../../../../../core/apiserver/http/body-thread.ts';
import { yamlText } from '../../../../../core/apiserver/http/yaml-answer.ts';
import { ApiBench } from './api-bench.ts';

/** Texts that readers may take for something else, beside every other text. */
const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.stringMatching(/^[-+0-9a-fox_.:,eTZ ]{0,12}$/),
  fc.stringMatching(/^[-?:,[\]{}#&*!|>'"%@`~=< \n\tab]{0,8}$/),
  fc.constantFrom(
    'yes',
    'No',
    'ON',
    'y',
    'N',
    '~',
    'Null',
    '<<',
    '=',
    '.inf',
    '-.INF',
    '.NaN',
    '1:20',
    '2001-12-14',
    '',
  ),
);
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    texts,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0 || 0),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(texts, fc.string({ minLength: 120, maxLength: 140 })), tie('value'), { maxKeys: 4 }),
  ),
}));

describe('the YAML of an answer', () => {
  it.each(['1.1', '1.2'] as const)('is read as the same value by YAML %s', (version) => {
    fc.assert(
      fc.property(fc.dictionary(texts, values, { maxKeys: 3 }), (answer) => {
        fc.pre(Object.keys(answer).length > 0);
        expect(parse(yamlText(answer), { version, uniqueKeys: false })).toEqual(answer);
      }),
      { numRuns: 1_000 },
    );
  });

  it('has sorted fields, lists at the column of their key, and integers with all digits', () => {
    const answer = { kind: 'Till', items: [{ b: [[1, 2n ** 60n]], a: 'x\ny' }, 'true'], data: { port: '80', no: '' } };
    expect(yamlText(answer)).toBe(
      `data:\n  "no": ""\n  port: "80"\nitems:\n- a: |-\n    x\n    y\n  b:\n  - - 1\n    - 1152921504606846976\n- "true"\nkind: Till\n`,
    );
  });

  it('is refused if many levels would make the text too long', () => {
    const below = (levels: number, inner: unknown): unknown => (levels === 0 ? inner : [below(levels - 1, inner)]);
    const refused = expect.objectContaining({ code: 'TooLarge' });
    expect(() =>
      yamlText({
        deep: below(
          200,
          Array.from({ length: 40_000 }, () => 1),
        ),
      }),
    ).toThrow(refused);
    expect(() => yamlText({ deep: below(200, 'a\n'.repeat(700_000)) })).toThrow(refused);
    expect(yamlText({ data: { text: 'a\n'.repeat(700_000) } })).toContain('text: |');
  });
});

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

it('a list that is too long for YAML is refused with the remedy, and comes in chunks', async () => {
  await using api = await withObjects();
  for (let i = 0; i < 9; i++)
    await api.call('POST', configMaps, { body: configMap(`long-${i}`, { text: 'x'.repeat(1e6) }) });
  const refused = await api.call('GET', configMaps, { accept: yaml });
  expect([refused.status, refused.type]).toEqual([413, yaml]);
  expect(refused.text).toContain('list in chunks (limit), or accept application/json');
  const chunk = await api.call('GET', `${configMaps}?limit=2`, { accept: yaml });
  expect([chunk.status, (parse(chunk.text) as { items: object[] }).items.length]).toEqual([200, 2]);
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
