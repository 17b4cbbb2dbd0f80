/** Stores on the disk: turned on, turned off, refused, and ended in the middle. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openNodeStore } from '../../../../core/encryption/open-store.ts';
import { rewriteStore } from '../../../../core/encryption/rewrite.ts';
import { formatKeys, type SealingKey, sealingKey } from '../../../../core/encryption/sealing-keys.ts';
import { readSealingRecord } from '../../../../core/encryption/sealing-record.ts';
import { contentRecordOf, dropContentReference, readContent, storeContent } from '../../../../core/feed/content.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { openFormatted } from '../../../../core/store/format.ts';
import { LmdbStore } from '../../../../core/store/lmdb/lmdb-store.ts';
import { completeReplacement, rewrittenIn } from '../../../../core/store/lmdb/replacement.ts';
import type { Store } from '../../../../core/store/store.ts';
import { temporaryDirectory } from '../../../contract/support/stores.ts';

const one = sealingKey(Buffer.alloc(32, 1));
const two = sealingKey(Buffer.alloc(32, 2));
const marker = 'four-seven-one-one';
const secrets = 2_500;

let folder: string;
beforeEach(() => {
  folder = temporaryDirectory();
});
afterEach(() => rmSync(folder, { recursive: true }));

const directory = () => join(folder, 'store');
const data = () => readFileSync(join(directory(), 'data.mdb'));
const traces = () =>
  readdirSync(directory(), { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(marker),
  ).length;

function open(keys?: readonly SealingKey[], resources = ['secrets']): Promise<Store> {
  const keyFile = join(folder, 'keys');
  if (keys) writeFileSync(keyFile, formatKeys(keys));
  return openNodeStore({
    directory: directory(),
    encryption: keys && { resources, keyFile },
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
}

const secret = (i: number) => ({
  key: `o/s//secrets/shop/${i}`,
  attributes: text('{}'),
  body: text(`${marker} ${i} ${'x'.repeat(200)}`),
});
const hashes = Array.from({ length: secrets }, (_, i) => contentRecordOf(secret(i)).hash);

async function fill(store: Store): Promise<void> {
  store.write((t) => {
    for (let i = 0; i < secrets; i++) storeContent(t, contentRecordOf(secret(i)));
    t.put(text('Zother'), text('a clear value'));
  });
  await store.flushed();
}

function expectFilled(store: Store): void {
  store.read((reader) => {
    for (const [i, hash] of hashes.entries())
      expect(asText(readContent(reader, { hash }).body)).toBe(asText(secret(i).body));
    expect(asText(reader.get(text('Zother'))!)).toBe('a clear value');
  });
}

async function used<T>(opening: Promise<Store>, act: (store: Store) => T | Promise<T>): Promise<T> {
  const store = await opening;
  try {
    return await act(store);
  } finally {
    await store[Symbol.asyncDispose]();
  }
}

it('a new store is sealed from its first value on', async () => {
  await used(open([one]), fill);
  expect(traces()).toBe(0);
  await used(open([one]), expectFilled);
});

it('a store without keys is clear, and the search for traces finds them', async () => {
  await used(open(), fill);
  expect(traces()).toBe(1);
});

describe('turning on', () => {
  it('seals what is there, and leaves nothing of it in the file, also not of what was removed before', async () => {
    await used(open(), async (store) => {
      await fill(store);
      // A removed Secret stays in a free page of LMDB.
      const removed = contentRecordOf(secret(secrets));
      store.write((t) => storeContent(t, removed));
      await store.flushed();
      store.write((t) => dropContentReference(t, removed));
    });
    await used(open([one]), (store) => {
      expectFilled(store);
      expect(traces()).toBe(0);
    });
    await used(open([one]), expectFilled);
  });

  it('keeps the values of other resources clear, and can be widened to them', async () => {
    await used(open([one], ['configmaps']), fill);
    expect(traces()).toBe(1);
    await used(open([one], ['secrets', 'configmaps']), expectFilled);
    expect(traces()).toBe(0);
  });

  it('makes a format that a program without sealing refuses', async () => {
    await used(open([one]), fill);
    const { format } = await used(open([one]), (store) => openFormatted(store, systemClock));
    expect(format).toBe(2);
  });
});

describe('turning off', () => {
  beforeEach(() => used(open([one]), fill));

  it('opens everything with the keys, and needs none afterwards', async () => {
    await used(open([one], []), expectFilled);
    await used(open(), (store) => {
      expectFilled(store);
      expect(openFormatted(store, systemClock).format).toBe(1);
      expect(store.read(readSealingRecord)).toBeUndefined();
    });
  });

  it.each([
    ['no configuration', undefined, ['secrets'], 'encryption: is missing, but the store in'],
    ['another key', [two], ['secrets'], 'put the missing key back'],
    ['another key, to be turned off', [two], [], 'put the missing key back'],
  ])('with %s is refused, and changes no byte', async (_name, keys, resources, message) => {
    const before = data();
    await expect(open(keys, resources)).rejects.toThrow(
      expect.objectContaining({ code: 'BadRequest', message: expect.stringContaining(message) }),
    );
    expect(data().equals(before)).toBe(true);
    await used(open([one]), expectFilled);
  });
});

it('a key file that cannot be used is known before the store is touched', async () => {
  writeFileSync(join(folder, 'keys'), 'rubbish\n');
  const keyFile = join(folder, 'keys');
  const options = { directory: directory(), clock: systemClock, random: systemRandom, log: silentLogger };
  await expect(openNodeStore({ ...options, encryption: { resources: ['secrets'], keyFile } })).rejects.toThrow(
    `encryption.keyFile: ${keyFile}: line 1 is no base64`,
  );
  expect(existsSync(directory())).toBe(false);
});

it('the rights of others on files and folders are taken away at the start', async () => {
  await used(open([one]), fill);
  mkdirSync(join(directory(), 'more'));
  writeFileSync(join(directory(), 'more', 'work'), '');
  const paths = [directory(), ...['data.mdb', 'flushed', 'more', 'more/work'].map((name) => join(directory(), name))];
  for (const path of paths) chmodSync(path, 0o777);
  await used(open([one]), () => {
    for (const path of paths) expect(statSync(path).mode & 0o077, path).toBe(0);
  });
});

describe('a process that ends in the middle of turning on', () => {
  beforeEach(() => used(open(), fill));

  it('before the copy is whole leaves the former store, and the next start begins again', async () => {
    const half = LmdbStore.open({ directory: rewrittenIn(directory()) }, silentLogger);
    openFormatted(half, systemClock);
    await half[Symbol.asyncDispose]();
    await used(open(), expectFilled);
    expect(existsSync(rewrittenIn(directory()))).toBe(false);
    const former = join(folder, 'former');
    cpSync(directory(), former, { recursive: true });
    cpSync(former, rewrittenIn(directory()), { recursive: true });
    await used(open([one]), expectFilled);
    expect(traces()).toBe(0);
  });

  it.each([
    ['before the first file is replaced', []],
    ['between the two files', ['data.mdb']],
    ['after both', ['data.mdb', 'flushed']],
  ])('%s is carried to its end by the next start', async (_when, moved) => {
    const clear = join(folder, 'clear');
    cpSync(directory(), clear, { recursive: true });
    await used(open([one]), expectFilled);
    // The sealed store as a copy that is whole, beside the former clear one.
    const sealed = join(folder, 'sealed');
    cpSync(directory(), sealed, { recursive: true });
    rmSync(directory(), { recursive: true });
    cpSync(clear, directory(), { recursive: true });
    cpSync(sealed, rewrittenIn(directory()), { recursive: true });
    completeReplacement(directory());
    for (const name of moved) {
      cpSync(join(rewrittenIn(directory()), name), join(directory(), name));
      rmSync(join(rewrittenIn(directory()), name));
    }
    await used(open([one]), expectFilled);
    expect(traces()).toBe(0);
    expect(existsSync(rewrittenIn(directory()))).toBe(false);
  });

  it('is told to those who only read', async () => {
    mkdirSync(rewrittenIn(directory()));
    completeReplacement(directory());
    expect(() => LmdbStore.open({ directory: directory(), readOnly: true }, silentLogger)).toThrow(
      'start its node once',
    );
  });
});

describe('a disk that is full', () => {
  const into = (from: Store) =>
    rewriteStore({ directory: directory(), logger: silentLogger, from, seal: (to) => to, finish: () => {} });

  it('is known before the copy begins', async () => {
    await used(open(), async (store) => {
      await fill(store);
      const small = Object.create(store, { size: { value: () => ({ ...store.size(), diskFreeBytes: 1_000 }) } });
      await expect(into(small)).rejects.toThrow(/anew needs \d+ MiB free, and the disk has 1 MiB; free space/);
      expect(existsSync(rewrittenIn(directory()))).toBe(false);
    });
  });

  it('in the middle leaves no copy, and the store as before', async () => {
    await used(open(), async (store) => {
      await fill(store);
      const read = () => {
        throw new BanyanError('StoreFull', 'no space is left');
      };
      const failing = Object.create(store, { size: { value: () => store.size() }, read: { value: read } });
      await expect(into(failing)).rejects.toThrow('no space is left');
      expect(existsSync(rewrittenIn(directory()))).toBe(false);
    });
    await used(open(), expectFilled);
  });
});

describe('another first key', () => {
  beforeEach(() => used(open([one]), fill));

  const settled = async (store: Store) => {
    while (!store.read(readSealingRecord)?.settled) await new Promise((resolve) => setTimeout(resolve, 5));
    return store.read(readSealingRecord)!;
  };

  it('seals everything anew while the store is in use, and the former key is then not needed', async () => {
    await used(open([two, one]), async (store) => {
      expect(store.read(readSealingRecord)?.keys).toEqual([two.id, one.id]);
      expectFilled(store);
      expect(await settled(store)).toMatchObject({ keys: [two.id], resealed: secrets, remains: true });
      expectFilled(store);
    });
    const grown = data().length;
    await used(open([two]), (store) => {
      expectFilled(store);
      expect(store.read(readSealingRecord)).toEqual({
        storeId: expect.any(String),
        resources: ['secrets'],
        keys: [two.id],
        settled: true,
      });
    });
    expect(data().length).toBeLessThan(grown);
  });

  it('of a run that ended in the middle is used for the rest by the next run', async () => {
    await used(open([two, one]), async (store) => {
      while (store.read(readSealingRecord)?.cursor === undefined)
        await new Promise((resolve) => setTimeout(resolve, 1));
    });
    await expect(open([two])).rejects.toThrow('put the missing key back');
    await used(open([two, one]), async (store) => {
      expect(store.read(readSealingRecord)?.cursor).toBeDefined();
      expect(await settled(store)).toMatchObject({ resealed: secrets });
      expectFilled(store);
    });
  });
});
