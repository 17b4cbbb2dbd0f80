import { expect, it } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { BanyanError, type ErrorCode } from '../../../../../core/runtime/errors.ts';
import { Creation } from '../../../../../edge-agent/cluster/kubernetes/creation.ts';

const configMap: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'prices', namespace: 'shop' },
  data: { bread: '1' },
};
const withVersion = { ...configMap, metadata: { ...configMap.metadata, resourceVersion: '9223372036854775807' } };
const enough = 8;

/** A server with the given answers, one after the other; the last answer repeats. */
function server(...answers: (number | ErrorCode)[]) {
  const asked: [KubeObject, Readonly<Record<string, string>>, once?: true][] = [];
  const creation = new Creation(async (object, query, once) => {
    asked.push(once ? [object, query, once] : [object, query]);
    const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
    if (typeof answer === 'number') return { status: answer, body: { ...configMap, of: answer } };
    throw new BanyanError(answer, 'words of the server');
  });
  const ask = (times: number) => {
    for (let i = 0; i < times; i++) creation.isKnown(configMap);
  };
  return { creation, asked, ask };
}

async function known(...answers: (number | ErrorCode)[]) {
  const { creation, asked, ask } = server('Conflict', ...answers);
  ask(enough);
  await creation.applied(configMap);
  expect(creation.isKnown(configMap)).toBe(true);
  asked.length = 0;
  return { creation, asked };
}

it('tests a kind with an object that was just applied, as a dry run, once many of the kind come', async () => {
  const { creation, asked, ask } = server('Conflict');
  ask(enough - 1);
  await creation.applied(configMap);
  expect(asked).toEqual([]);
  ask(1);
  await creation.applied(configMap);
  await creation.applied(configMap);
  expect(asked).toEqual([[withVersion, { force: 'true', dryRun: 'All' }]]);
  expect(creation.isKnown(configMap)).toBe(true);
  expect(creation.isKnown({ ...configMap, kind: 'Secret' })).toBe(false);
  expect(creation.isKnown({ ...configMap, apiVersion: 'shop.example.com/v1' })).toBe(false);
});

it('runs one test at a time', async () => {
  let answer = () => {};
  let tries = 0;
  const creation = new Creation(async () => {
    tries++;
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    throw new BanyanError('Conflict', 'it is another version');
  });
  for (let i = 0; i < enough; i++) creation.isKnown(configMap);
  const both = [creation.applied(configMap), creation.applied(configMap)];
  expect(creation.isKnown(configMap)).toBe(false);
  answer();
  await Promise.all(both);
  expect(tries).toBe(1);
});

it.each([[200], [201], ['BadRequest'], ['Invalid']] as const)(
  'does not rely on a server that answers %s to the test, and tests it no more',
  async (answer) => {
    const { creation, asked, ask } = server(answer);
    ask(enough);
    await creation.applied(configMap);
    ask(enough);
    await creation.applied(configMap);
    expect(creation.isKnown(configMap)).toBe(false);
    expect(asked).toHaveLength(1);
  },
);

it('repeats the test later if there was no answer, and if it may be another server', async () => {
  const { creation, asked, ask } = server('Unavailable', 'Conflict');
  ask(enough);
  await creation.applied(configMap);
  await creation.applied(configMap);
  expect(asked).toHaveLength(1);
  ask(enough);
  await creation.applied(configMap);
  expect(creation.isKnown(configMap)).toBe(true);
  creation.forget();
  expect(creation.isKnown(configMap)).toBe(false);
});

it('creates new objects without force', async () => {
  const { creation, asked } = await known(201);
  expect(await creation.create(configMap)).toMatchObject({ of: 201 });
  expect(asked).toEqual([[withVersion, { force: 'false' }, true]]);
});

it.each(['Conflict', 'Forbidden', 'Invalid', 'NotFound'] as const)(
  'creates nothing if the server answers %s',
  async (code) => {
    const { creation } = await known(code);
    expect(await creation.create(configMap)).toBeUndefined();
    expect(creation.isKnown(configMap)).toBe(true);
  },
);

it.each(['Unavailable', 'Timeout', 'Internal', 'TooLarge'] as const)(
  'does not claim that nothing was created after %s',
  async (code) => {
    const { creation } = await known(code);
    await expect(creation.create(configMap)).rejects.toMatchObject({ code });
  },
);

it('undoes a merge with somebody’s object, and relies on that server no more', async () => {
  const { creation, asked } = await known(200);
  expect(await creation.create(configMap)).toBeUndefined();
  const bare = { apiVersion: 'v1', kind: 'ConfigMap', metadata: configMap.metadata };
  expect(asked).toEqual([
    [withVersion, { force: 'false' }, true],
    [bare, { force: 'true' }],
  ]);
  expect(creation.isKnown(configMap)).toBe(false);
});
