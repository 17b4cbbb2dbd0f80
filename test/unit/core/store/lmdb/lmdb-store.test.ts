/** Properties beyond the port: shared flushes, crashes, bad disks, other processes. The promises of the port have a contract suite. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { asText, text } from '../../../../../core/store/bytes.ts';
import { systemDataSync } from '../../../../../core/store/lmdb/data-file.ts';
import { MarkFile } from '../../../../../core/store/lmdb/flush-mark.ts';
import { type Host, localHost } from '../../../../../core/store/lmdb/host.ts';
import { LmdbStore, type LmdbStoreOptions } from '../../../../../core/store/lmdb/lmdb-store.ts';
import type { Store } from '../../../../../core/store/store.ts';
import { temporaryDirectory } from '../../../../contract/support/stores.ts';

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (options: Partial<LmdbStoreOptions> = {}) => LmdbStore.open({ directory, ...options }, silentLogger);
const file = (name: string) => join(directory, name);

describe('the files of a store', () => {
  const modes = (in_: string) =>
    Object.fromEntries(
      [in_, ...readdirSync(in_).map((name) => join(in_, name))].map((path) => [
        path.slice(in_.length),
        statSync(path).mode & 0o777,
      ]),
    );
  const own = { '': 0o700, '/data.mdb': 0o600, '/data.mdb-lock': 0o600, '/flushed': 0o600 };

  it('are readable by nobody else: new ones, those of an older version, and a backup', async () => {
    rmSync(directory, { recursive: true });
    {
      await using store = open();
      put(store, 'a', '1');
      await store.backup(file('copy'));
      expect(modes(file('copy'))).toEqual({ '': 0o700, '/data.mdb': 0o600, '/flushed': 0o600 });
      rmSync(file('copy'), { recursive: true });
    }
    expect(modes(directory)).toEqual(own);
    chmodSync(directory, 0o755);
    for (const name of readdirSync(directory)) chmodSync(file(name), 0o644);
    {
      await using store = open();
      expect(get(store, 'a')).toBe('1');
    }
    expect(modes(directory)).toEqual(own);
  });
});

describe('flushing', () => {
  it('is shared: 1,000 concurrent waits need one or two syncs', async () => {
    let syncs = 0;
    await using store = open({
      dataSync: (fd) => {
        syncs++;
        return systemDataSync(fd);
      },
    });
    await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => {
        put(store, `k${i}`, 'v');
        return store.flushed();
      }),
    );
    expect(syncs).toBeLessThanOrEqual(2);
  });

  it('waits for the sync, and covers only writes from before the sync began', async () => {
    const syncs: (() => void)[] = [];
    await using store = open({ dataSync: () => new Promise((resolve) => syncs.push(resolve)) });
    const settled: string[] = [];
    put(store, 'a', '1');
    const first = store.flushed().then(() => settled.push('first'));
    await until(() => syncs.length === 1);
    put(store, 'b', '1');
    const second = store.flushed().then(() => settled.push('second'));
    expect(settled).toEqual([]);
    syncs[0]!();
    await first;
    await until(() => syncs.length === 2);
    expect(settled).toEqual(['first']);
    syncs[1]!();
    await second;
  });

  it('happens without anybody who waits, so that many small commits reuse the same pages', async () => {
    let syncs = 0;
    await using store = open({
      dataSync: (fd) => {
        syncs++;
        return systemDataSync(fd);
      },
    });
    for (let i = 0; i < 500; i++) put(store, `k${i}`, 'v'.repeat(500));
    await store.flushed();
    const before = store.size().usedBytes;
    syncs = 0;
    // As slow as the disk, so that its syncs keep up with the commits.
    for (let turn = 0, seen = 0; syncs < 10; turn++) {
      put(store, `k${(turn * 37) % 500}`, 'w'.repeat(500));
      await new Promise((resolve) => setImmediate(resolve));
      if (turn % 100 < 99) continue;
      await until(() => syncs > seen);
      seen = syncs;
    }
    // Without it, each hundred commits of some four pages take 1.6 MB more.
    expect(store.size().usedBytes).toBeLessThan(before + 8e6);
  });

  it('happens once more for many commits that came during a slow flush, even if none follows', async () => {
    let syncs = 0;
    let end = () => {};
    const slow = new Promise<void>((resolve) => {
      end = resolve;
    });
    await using store = open({ dataSync: () => (++syncs === 1 ? slow : Promise.resolve()) });
    for (let turn = 0; turn < 40; turn++) {
      put(store, 'a', `${turn}`);
      await endOfTurn();
    }
    expect(syncs).toBe(1);
    end();
    await expect.poll(() => syncs).toBe(2);
  });

  it('that fails without anybody who waits is reported to the next one who waits', async () => {
    const error = Object.assign(new Error('i/o error'), { code: 'EIO' });
    const store = open({ dataSync: () => Promise.reject(error) });
    let refusal: unknown;
    for (let turn = 0; turn < 1_000 && refusal === undefined; turn++) {
      try {
        put(store, 'a', `${turn}`);
      } catch (caught) {
        refusal = caught;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(refusal).toMatchObject({ code: 'StoreCorrupt' });
    await expect(store.flushed()).rejects.toMatchObject({ code: 'StoreCorrupt' });
    await store[Symbol.asyncDispose]();
  });

  it('that fails is reported to everyone who waits, and ends all writing', async () => {
    const error = Object.assign(new Error('i/o error'), { code: 'EIO' });
    const store = open({ dataSync: () => Promise.reject(error) });
    put(store, 'a', '1');
    const refusal = {
      code: 'StoreCorrupt',
      message: expect.stringContaining(`cannot flush the store in ${directory}: i/o error`),
    };
    const waiting = [store.flushed(), store.flushed()];
    for (const flushed of waiting) await expect(flushed).rejects.toMatchObject(refusal);
    await expect(store.flushed()).rejects.toMatchObject(refusal);
    expect(() => put(store, 'b', '1')).toThrow(expect.objectContaining(refusal));
    await store[Symbol.asyncDispose]();
  });

  it('that fails takes the next start back to the flush before it, since nobody knows what the disk has', async () => {
    let fails = false;
    const error = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    const store = open({ dataSync: (fd) => (fails ? Promise.reject(error) : systemDataSync(fd)) });
    put(store, 'a', '1');
    await store.flushed();
    fails = true;
    put(store, 'a', '2');
    await expect(store.flushed()).rejects.toMatchObject({ code: 'StoreFull' });
    await store[Symbol.asyncDispose]();
    await using again = open();
    expect(get(again, 'a')).toBe('1');
  });

  it('that fails is reported once to the owner of the process, who may end the process at once', async () => {
    const reports: string[] = [];
    let image = '';
    const store = open({
      dataSync: () => Promise.reject(new Error('i/o error')),
      failed: ({ code }) => {
        reports.push(code);
        image = temporaryDirectory();
        cpSync(directory, image, { recursive: true });
      },
    });
    put(store, 'a', '1');
    await expect(store.flushed()).rejects.toMatchObject({ code: 'StoreCorrupt' });
    expect(() => put(store, 'b', '1')).toThrow('cannot flush');
    await store[Symbol.asyncDispose]();
    expect(reports).toEqual(['StoreCorrupt']);
    // The process is gone: its lock does not count as the lock of a running one.
    rmSync(join(image, 'owner.json'));
    await using again = LmdbStore.open({ directory: image }, silentLogger);
    expect(get(again, 'a')).toBeUndefined();
    rmSync(image, { recursive: true });
  });

  it('that fails leaves the former flush valid, even if the power fails while that is noted', async () => {
    let fails = false;
    const store = open({ dataSync: (fd) => (fails ? Promise.reject(new Error('i/o error')) : systemDataSync(fd)) });
    put(store, 'a', '1');
    await store.flushed();
    const before = readFileSync(file('flushed'));
    fails = true;
    put(store, 'a', '2');
    await expect(store.flushed()).rejects.toMatchObject({ code: 'StoreCorrupt' });
    await store[Symbol.asyncDispose]();
    const noted = readFileSync(file('flushed'));
    const slotBytes = 128 * 1024;
    for (let at = 0; at < noted.length; at += slotBytes) {
      if (!noted.subarray(at, at + slotBytes).equals(before.subarray(at, at + slotBytes))) noted[at + 100]! ^= 1;
    }
    writeFileSync(file('flushed'), noted);
    await using again = open({ host: otherBoot() });
    expect(get(again, 'a')).toBe('1');
  });

  it('happens once more at the end, for writes that nobody waited for', async () => {
    const store = open();
    put(store, 'a', '1');
    await store[Symbol.asyncDispose]();
    await using again = open({ host: otherBoot() });
    expect(get(again, 'a')).toBe('1');
  });
});

describe('a crash', () => {
  it('of the process (kill -9) loses no earlier turn, flushed or not', async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'child-writer.ts'), directory]);
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await using store = open();
    expect(get(store, 'k99')).toBe('99');
  });

  /**
   * After a power cut, the disk has everything of the last finished flush, and any part of the later writes, page by page. The test makes the worst case from
   * two copies of the data file.
   */
  it('of the machine leaves exactly the last finished flush, whatever pages of later writes reached the disk', async () => {
    const write = fc.array(fc.tuple(fc.nat(60), fc.option(fc.constantFrom(10, 300, 5_000), { freq: 4 })), {
      minLength: 1,
      maxLength: 12,
    });
    const plan = fc.record({
      before: fc.array(write, { minLength: 1, maxLength: 15 }),
      after: fc.array(write, { maxLength: 25 }),
      chosen: fc.infiniteStream(fc.boolean()),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(plan, async ({ before, after, chosen }) => {
        const home = file(`run${run++}`);
        const model = new Map<string, string>();
        const store = LmdbStore.open({ directory: home, mapSizeBytes: 2 ** 20 }, silentLogger);
        for (const [i, changes] of before.entries()) {
          apply(store, changes, model, i);
          await store.flushed();
        }
        const image = join(home, 'image');
        mkdirSync(image);
        copyFileSync(join(home, 'flushed'), join(image, 'flushed'));
        const flushed = readFileSync(join(home, 'data.mdb'));
        const scrap = new Map(model);
        for (const [i, changes] of after.entries()) {
          apply(store, changes, scrap, 100 + i);
          await endOfTurn();
        }
        writeFileSync(join(image, 'data.mdb'), tornMixture(flushed, readFileSync(join(home, 'data.mdb')), chosen));
        await store[Symbol.asyncDispose]();
        await using survivor = LmdbStore.open({ directory: image, host: otherBoot() }, silentLogger);
        expect(contents(survivor)).toEqual(new Map([...model].sort(([a], [b]) => (a < b ? -1 : 1))));
        put(survivor, 'zz', 'it can be written');
        await survivor.flushed();
      }),
      { numRuns: 40 },
    );
  });

  it('before the first flush leaves an empty store, not a broken one', async () => {
    const store = open();
    await store[Symbol.asyncDispose]();
    rmSync(file('flushed'));
    rmSync(file('data.mdb'));
    const born = open({ dataSync: () => new Promise(() => undefined) });
    copyFileSync(file('data.mdb'), file('data.kept'));
    await born[Symbol.asyncDispose]();
    await using again = open({ host: otherBoot() });
    expect(contents(again).size).toBe(0);
  });
});

describe('an end while LMDB makes its files', () => {
  const pageBytes = 4_096;
  const born = (bytes: number, host: Host) => {
    const mark = new MarkFile(directory, 'create');
    mark.writeNow({ sequence: 1, bootId: host.bootId, fileBytes: 0, metaPages: Buffer.alloc(0) });
    mark.close();
    writeFileSync(file('data.mdb'), rootPages.subarray(0, bytes));
  };
  let rootPages: Buffer;
  beforeEach(async () => {
    await using _store = open();
    rootPages = readFileSync(file('data.mdb')).subarray(0, 2 * pageBytes);
    rmSync(directory, { recursive: true });
    mkdirSync(directory);
  });

  it.each([0, 40, 100, pageBytes, 2 * pageBytes - 1])('leaves an empty store: after %i bytes', async (bytes) => {
    born(bytes, localHost());
    expect(() => open({ readOnly: true })).toThrow('start its node once');
    await using store = open();
    put(store, 'a', '1');
    await store.flushed();
    expect(contents(store).size).toBe(1);
  });

  it('does not leave an empty store once both root pages exist', async () => {
    born(2 * pageBytes, localHost());
    await using reader = open({ readOnly: true });
    expect(contents(reader).size).toBe(0);
  });

  it('does not explain a foreign file, which is refused', () => {
    born(0, localHost());
    writeFileSync(file('data.mdb'), Buffer.alloc(3 * pageBytes, 'x'));
    expect(() => open()).toThrow('is no data file of LMDB');
  });
});

describe('a damaged store', () => {
  beforeEach(async () => {
    await using store = open();
    for (let i = 0; i < 200; i++) put(store, `k${i}`, 'v'.repeat(1_000));
  });
  const corrupt = (why: string) =>
    expect.objectContaining({
      code: 'StoreCorrupt',
      message: expect.stringMatching(`in ${directory}: .*${why}.*restore a backup`),
    });

  it('is refused when its data file was cut off', () => {
    truncateSync(file('data.mdb'), statSync(file('data.mdb')).size - 4_096);
    expect(() => open()).toThrow(corrupt('has [0-9]+ bytes of at least [0-9]+'));
  });

  it('is refused when its data file is empty', () => {
    truncateSync(file('data.mdb'), 0);
    expect(() => open()).toThrow(corrupt('has 0 bytes'));
  });

  it('is refused when its data file is missing', () => {
    rmSync(file('data.mdb'));
    expect(() => open()).toThrow(corrupt('data.mdb is missing'));
  });

  it('is refused when its data file is another file', () => {
    writeFileSync(file('data.mdb'), Buffer.alloc(statSync(file('data.mdb')).size, 'garbage'));
    expect(() => open()).toThrow(corrupt('data.mdb is no data file of LMDB'));
  });

  it('can be opened again once it is repaired', async () => {
    const whole = readFileSync(file('data.mdb'));
    writeFileSync(file('data.mdb'), Buffer.alloc(whole.length));
    expect(() => open()).toThrow(corrupt('data.mdb is no data file of LMDB'));
    writeFileSync(file('data.mdb'), whole);
    await using store = open();
    expect(contents(store).size).toBe(200);
  });

  it('uses the older flush mark when the newer one is torn, and no damaged one', async () => {
    const marks = readFileSync(file('flushed'));
    for (let at = 100; at < marks.length; at += 128 * 1024) marks[at]! ^= 1;
    writeFileSync(file('flushed'), marks);
    await using store = open();
    expect(contents(store).size).toBe(200);
  });
});

describe('a disk', () => {
  it('that is full refuses writes and keeps the store intact, until there is space', async (test) => {
    await onSmallDisk(test, async (mount) => {
      let hasFailed = false;
      const failed = () => {
        hasFailed = true;
      };
      await using store = LmdbStore.open({ directory: join(mount, 'store'), failed }, silentLogger);
      put(store, 'first', 'v');
      await store.flushed();
      writeFileSync(join(mount, 'filler'), Buffer.alloc(30 * 2 ** 20));
      await endOfTurn();
      const full = {
        code: 'StoreFull',
        message: expect.stringContaining(`in ${join(mount, 'store')}: no space is left; free space`),
      };
      expect(() => put(store, 'second', 'v')).toThrow(expect.objectContaining(full));
      expect(hasFailed).toBe(false);
      expect([...contents(store).keys()]).toEqual(['first']);
      await store.flushed();
      rmSync(join(mount, 'filler'));
      put(store, 'third', 'v');
      await store.flushed();
      expect([...contents(store).keys()]).toEqual(['first', 'third']);
    });
  });

  it('that fills up within a transaction ends the store, and the next start has everything that was flushed', async (test) => {
    await onSmallDisk(test, async (mount) => {
      const home = join(mount, 'store');
      let reports = 0;
      const store = LmdbStore.open({ directory: home, failed: () => reports++ }, silentLogger);
      put(store, 'first', 'v');
      await store.flushed();
      const full = { code: 'StoreFull', message: expect.stringContaining(`cannot commit to the store in ${home}`) };
      const tooMuch = () =>
        store.write((t) => {
          for (let i = 0; i < 60; i++) t.put(text(`big${i}`), Buffer.alloc(2 ** 20, i));
        });
      expect(tooMuch).toThrow(expect.objectContaining(full));
      await expect(store.flushed()).rejects.toMatchObject(full);
      expect(() => put(store, 'second', 'v')).toThrow(expect.objectContaining(full));
      expect(reports).toBe(1);
      await store[Symbol.asyncDispose]();
      await using again = LmdbStore.open({ directory: home }, silentLogger);
      expect([...contents(again).keys()]).toEqual(['first']);
    });
  });

  it('that is read-only is refused with the remedy', async (test) => {
    await onSmallDisk(test, async (mount) => {
      execFileSync('mount', ['-o', 'remount,ro', mount]);
      const refusal = {
        code: 'StoreCorrupt',
        message: expect.stringMatching(`in ${mount}.*(EROFS|read-only).*mount it writable`),
      };
      expect(() => LmdbStore.open({ directory: mount }, silentLogger)).toThrow(expect.objectContaining(refusal));
    });
  });
});

describe('another process', () => {
  it('is refused while the first one runs, by its pid, and takes over when the first was killed', async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'child-writer.ts'), directory]);
    await once(child.stdout, 'data');
    const refusal = {
      code: 'Unavailable',
      message: expect.stringContaining(`${directory} is in use by process ${child.pid}`),
    };
    expect(() => open()).toThrow(expect.objectContaining(refusal));
    child.kill('SIGKILL');
    await once(child, 'exit');
    await using store = open();
    expect(get(store, 'k0')).toBe('0');
  });

  it('includes this process, if it opens the directory twice', async () => {
    await using _store = open();
    expect(() => open()).toThrow(`in use by process ${process.pid}`);
  });

  it('does not count if its pid belongs to a later process, an earlier boot, or another container', async () => {
    const { self, bootId } = localHost();
    const stale = [
      { ...self, bootId, started: '1' },
      { ...self, bootId: 'an earlier boot' },
      { ...self, bootId, namespace: 'pid:[1]' },
      { nothing: true },
    ];
    for (const owner of stale) {
      writeFileSync(file('owner.json'), JSON.stringify(owner));
      await using store = open();
      put(store, 'a', '1');
    }
    writeFileSync(file('owner.json'), 'torn');
    await using _store = open();
  });

  it('finds no lock after the store was closed', async () => {
    await (await Promise.resolve(open()))[Symbol.asyncDispose]();
    expect(existsSync(file('owner.json'))).toBe(false);
  });

  it('may read beside the writer, and not write', async () => {
    await using store = open();
    put(store, 'a', '1');
    await store.flushed();
    const script = `
      import { LmdbStore } from ${JSON.stringify(join(import.meta.dirname, '../../../../../core/store/lmdb/lmdb-store.ts'))};
      const store = LmdbStore.open({ directory: ${JSON.stringify(directory)}, readOnly: true }, { warn() {}, info() {}, error() {}, debug() {} });
      console.log(String(store.read((reader) => reader.get(Buffer.from('a')))));
      try { store.write(() => {}); } catch (error) { console.log(error.code); }
      await store[Symbol.asyncDispose]();`;
    const output = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
      encoding: 'utf8',
    });
    expect(output.trim().split('\n')).toEqual(['1', 'MethodNotAllowed']);
  });
});

describe('a backup', () => {
  it('is one state, while the store is written to, and opens anywhere', async () => {
    await using store = open();
    const rewrite = (value: string) =>
      store.write((t) => {
        for (let i = 0; i < 500; i++) t.put(text(`k${i}`), text(value.padEnd(1_000)));
      });
    rewrite('0');
    let making = true;
    const made = store.backup(file('copy')).finally(() => {
      making = false;
    });
    for (let round = 1; making; round++) {
      rewrite(`${round}`);
      await store.flushed();
    }
    await made;
    await using copy = LmdbStore.open({ directory: file('copy'), host: otherBoot() }, silentLogger);
    expect(contents(copy).size).toBe(500);
    expect(new Set(contents(copy).values()).size).toBe(1);
  });

  it('is not written over another store', async () => {
    await using store = open();
    await expect(store.backup(directory)).rejects.toMatchObject({ code: 'AlreadyExists' });
  });

  it('that fails says where and leaves nothing that looks like a backup', async (test) => {
    await onSmallDisk(test, async (mount) => {
      await using store = open();
      for (let i = 0; i < 60; i++) put(store, `k${i}`, 'v'.repeat(2 ** 20));
      const copy = join(mount, 'copy');
      await expect(store.backup(copy)).rejects.toThrow(`cannot write the backup in ${copy}`);
      expect(existsSync(join(copy, 'data.mdb'))).toBe(false);
    });
  });
});

it('a store whose data outgrow its map grows the map, within a transaction too', async () => {
  await using store = open({ mapSizeBytes: 256 * 1024 });
  store.write((t) => {
    for (let i = 0; i < 40; i++) t.put(text(`k${String(i).padStart(3, '0')}`), Buffer.alloc(2 ** 20, i));
    expect([...t.scan({ from: text('k'), to: text('l') })]).toHaveLength(40);
  });
  await store.flushed();
  expect(store.size().usedBytes).toBeGreaterThan(40 * 2 ** 20);
});

it('the space of removed values is reused', async () => {
  await using store = open();
  const turn = async (change: (i: number) => void) => {
    for (let i = 0; i < 20; i++) change(i);
    await store.flushed();
  };
  const fill = () => turn((i) => put(store, `k${i}`, 'v'.repeat(2 ** 20)));
  await fill();
  await turn((i) => store.write((t) => t.remove(text(`k${i}`))));
  expect(store.size().freeBytes).toBeGreaterThan(19 * 2 ** 20);
  const before = store.size().usedBytes;
  for (let i = 0; i < 3; i++) await fill();
  expect(store.size().usedBytes).toBeLessThan(before * 3);
});

it('a closed store refuses everything that would change it', async () => {
  const store = open();
  await store[Symbol.asyncDispose]();
  expect(() => put(store, 'a', '1')).toThrow(`the store in ${directory} is closed`);
  await expect(store.flushed()).rejects.toThrow('is closed');
});

// ------------------------------------------------------------------------------------------------

function put(store: Store, key: string, value: string): void {
  store.write((t) => t.put(text(key), text(value)));
}

function get(store: Store, key: string): string | undefined {
  const value = store.read((reader) => reader.get(text(key)));
  return value && asText(value);
}

function contents(store: Store): Map<string, string> {
  const all = { from: Buffer.alloc(0), to: Buffer.of(0xff) };
  return new Map(
    store.read((reader) => Array.from(reader.scan(all), ([key, value]) => [asText(key), asText(value)] as const)),
  );
}

function apply(store: Store, changes: [number, number | null][], model: Map<string, string>, seed: number): void {
  store.write((t) => {
    for (const [number, length] of changes) {
      const key = `k${number}`;
      if (length === null) {
        t.remove(text(key));
        model.delete(key);
      } else {
        const value = `${seed}:`.padEnd(length, `${number}`);
        t.put(text(key), text(value));
        model.set(key, value);
      }
    }
  });
}

/** For each page, its state at the flush or its later state; pages after the end of the flushed file may be missing. */
function tornMixture(flushed: Buffer, unflushed: Buffer, chosen: Iterable<boolean>): Buffer {
  const choice = chosen[Symbol.iterator]();
  const mixture = Buffer.alloc(unflushed.length);
  for (let at = 0; at < unflushed.length; at += 4_096) {
    const source = choice.next().value ? unflushed : flushed;
    if (at < source.length) source.copy(mixture, at, at, at + 4_096);
  }
  return mixture;
}

function otherBoot(): Host {
  return { ...localHost(), bootId: 'the next boot' };
}

async function onSmallDisk(test: { skip(reason: string): void }, use: (mount: string) => Promise<void>): Promise<void> {
  const mount = file('mount');
  mkdirSync(mount);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'tmpfs', mount], { stdio: 'pipe' });
  } catch (error) {
    return test.skip(`needs the right to mount a tmpfs: ${String(error)}`);
  }
  try {
    await use(mount);
  } finally {
    execFileSync('umount', ['--lazy', mount]);
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await endOfTurn();
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
