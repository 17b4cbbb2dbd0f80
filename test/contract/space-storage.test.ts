/** The promises of core/apiserver/storage.ts, on every implementation; then what only the embedded one promises. */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedStorage, type EmbeddedStorageOptions } from '../../core/apiserver/storage/embedded.ts';
import { Snapshot } from '../../core/apiserver/storage/snapshot.ts';
import { ViewStorage } from '../../core/apiserver/storage/view.ts';
import type { ScanOptions, SpaceStorage, StorageEvent, StoredObject } from '../../core/apiserver/storage.ts';
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import { VirtualClock } from '../../core/runtime/clock.ts';
import { type Logger, silentLogger } from '../../core/runtime/logger.ts';
import { asText, text } from '../../core/store/bytes.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Store } from '../../core/store/store.ts';

interface Fixture {
  readonly storage: SpaceStorage;
  put(key: ObjectKey, body: string): void;
  remove(key: ObjectKey): void;
}

const pods = { group: '', resource: 'pods' };
const deployments = { group: 'apps', resource: 'deployments' };

const fixtures: readonly { name: string; open(logger?: Logger): Fixture }[] = [
  {
    name: 'EmbeddedStorage',
    open(logger) {
      const storage = embedded(new MemoryStore(), logger ? { logger } : {});
      return {
        storage,
        put: (key, body) => storage.write((writer) => writer.put(key, text(body))),
        remove: (key) => storage.write((writer) => writer.remove(key)),
      };
    },
  },
  {
    name: 'ViewStorage',
    open(logger = silentLogger) {
      const shown = new Map<string, { key: ObjectKey; body: Uint8Array }>();
      const source = { list: () => shown.values(), get: (key: ObjectKey) => shown.get(formatKey(key))?.body };
      const storage = new ViewStorage(source, new VirtualClock(), logger);
      const change = (key: ObjectKey, after: Uint8Array | undefined) => {
        const before = shown.get(formatKey(key))?.body;
        if (after) shown.set(formatKey(key), { key, body: after });
        else shown.delete(formatKey(key));
        storage.changed(key, before, after);
      };
      return { storage, put: (key, body) => change(key, text(body)), remove: (key) => change(key, undefined) };
    },
  },
];

describe.each(fixtures)('$name', ({ open }) => {
  let fixture: Fixture;
  let storage: SpaceStorage;

  beforeEach(() => {
    fixture = open();
    storage = fixture.storage;
  });

  it('returns the object that was put, with the revision of the change', () => {
    fixture.put(pod('web'), 'one');
    expect(shown(storage.get(pod('web')))).toEqual(['shop/web', 'one']);
    expect(storage.get(pod('web'))!.revision).toBe(storage.revision());
    expect(storage.get(pod('other'))).toBeUndefined();
  });

  it('raises the revision with each change', () => {
    const before = storage.revision();
    fixture.put(pod('a'), '1');
    fixture.put(pod('a'), '2');
    fixture.remove(pod('a'));
    expect(storage.revision()).toBe(before + 3);
    expect(storage.get(pod('a'))).toBeUndefined();
  });

  describe('scan', () => {
    beforeEach(() => {
      for (const [namespace, name] of [
        ['shop', 'web'],
        ['a', 'z'],
        ['shop-2', 'a'],
        ['shop', 'a'],
        ['shop', 'a-b'],
      ]) {
        fixture.put({ ...pods, namespace: namespace!, name: name! }, name!);
      }
      fixture.put({ ...deployments, namespace: 'shop', name: 'web' }, 'd');
      fixture.put({ group: '', resource: 'podtemplates', namespace: 'shop', name: 'p' }, 'p');
    });

    const names = (options?: Parameters<SpaceStorage['scan']>[1]) =>
      storage.scan(pods, options).map(({ key }) => `${key.namespace}/${key.name}`);

    it('lists one resource in order of namespace, then name', () => {
      expect(names()).toEqual(['a/z', 'shop/a', 'shop/a-b', 'shop/web', 'shop-2/a']);
    });

    it('lists one namespace, and no namespace whose name has the same beginning', () => {
      expect(names({ namespace: 'shop' })).toEqual(['shop/a', 'shop/a-b', 'shop/web']);
    });

    it('continues after a given object, whether that object still exists or not', () => {
      expect(names({ after: { namespace: 'shop', name: 'a' } })).toEqual(['shop/a-b', 'shop/web', 'shop-2/a']);
      expect(names({ after: { namespace: 'shop', name: 'b' } })).toEqual(['shop/web', 'shop-2/a']);
      expect(names({ after: { namespace: 'shop', name: 'a' }, namespace: 'shop', limit: 1 })).toEqual(['shop/a-b']);
      expect(names({ after: { namespace: 'zoo', name: 'a' } })).toEqual([]);
    });

    it('stops at the limit', () => {
      expect(names({ limit: 2 })).toEqual(['a/z', 'shop/a']);
    });

    it('counts the objects, whatever has changed since the count before', () => {
      const counts = () => [
        storage.count(pods),
        storage.count(pods, { namespace: 'shop' }),
        storage.count(pods, { namespace: 'shop', after: { namespace: 'shop', name: 'a' } }),
      ];
      expect(counts()).toEqual([5, 3, 2]);
      fixture.put(pod('new'), 'n');
      fixture.put(pod('web'), 'changed');
      fixture.remove({ ...pods, namespace: 'a', name: 'z' });
      expect(counts()).toEqual([5, 4, 3]);
      expect(storage.count(deployments)).toBe(1);
      expect(storage.count(pods, { namespace: 'none' })).toBe(0);
    });

    it('finds the last object of a page if more follow', () => {
      const end = (limit: number, options: ScanOptions = {}) => storage.pageEnd(pods, { ...options, limit });
      expect(end(2)).toEqual(pod('a'));
      expect(end(4)).toEqual(pod('web'));
      expect(end(5)).toBeUndefined();
      expect(end(1, { namespace: 'shop', after: { namespace: 'shop', name: 'a' } })).toEqual(pod('a-b'));
      expect(end(2, { namespace: 'shop', after: { namespace: 'shop', name: 'a' } })).toBeUndefined();
    });

    it('names every resource that has an object', () => {
      expect(storage.resources()).toEqual([pods, { group: '', resource: 'podtemplates' }, deployments]);
    });

    it('forgets a resource with its last object', () => {
      fixture.remove({ ...deployments, namespace: 'shop', name: 'web' });
      expect(storage.resources()).toEqual([pods, { group: '', resource: 'podtemplates' }]);
    });
  });

  describe('events', () => {
    it('report each change, with the state before, in order', () => {
      const start = storage.revision();
      fixture.put(pod('a'), '1');
      fixture.put(pod('a'), '2');
      fixture.remove(pod('a'));
      expect(storage.eventsSince(start)).toEqual([
        { type: 'ADDED', object: stored('a', start + 1, '1') },
        { type: 'MODIFIED', object: stored('a', start + 2, '2'), before: stored('a', start + 1, '1') },
        { type: 'DELETED', object: stored('a', start + 3, '2'), before: stored('a', start + 2, '2') },
      ]);
      expect(storage.eventsSince(start + 2)).toHaveLength(1);
      expect(storage.eventsSince(start + 3)).toEqual([]);
    });

    it('from before the start are expired', () => {
      expect(storage.eventsSince(storage.revision() - 1)).toBe('expired');
    });

    it('are kept for the newest 10,000', () => {
      const start = storage.revision();
      for (let i = 0; i <= 10_000; i++) fixture.put(pod('a'), `${i}`);
      expect(storage.eventsSince(start)).toBe('expired');
      expect(() => listAt(storage, start)).toThrow('is too old to display a consistent list result');
      expect(storage.eventsSince(start + 1)).toHaveLength(10_000);
    });

    it('are kept as long as they fit into 32 MiB together with their former states', () => {
      const start = storage.revision();
      const mebibyte = 'x'.repeat(2 ** 20);
      for (let i = 0; i < 40; i++) fixture.put(pod('a'), `${mebibyte}${i}`);
      expect(storage.eventsSince(start)).toBe('expired');
      expect(storage.eventsSince(start + 25)).toHaveLength(15);
      expect(storage.eventsSince(start + 24)).toBe('expired');
    });

    it('use no more memory for an event than the size of its bodies, whatever buffers the bodies were cut from', () => {
      const start = storage.revision();
      for (let i = 0; i < 3; i++) fixture.put(pod('a'), `{"metadata":{"name":"a","labels":{"i":"${i}"}}}`);
      const events = storage.eventsSince(start) as StorageEvent[];
      const bodies = events.flatMap(({ object, before }) => (before ? [before.body, object.body] : [object.body]));
      expect(bodies).toHaveLength(5);
      for (const body of bodies) expect(body.buffer.byteLength).toBeLessThanOrEqual(2 * body.length);
    });
  });

  describe('subscribers', () => {
    it('are called after the change, in order, until they unsubscribe', () => {
      const seen: string[] = [];
      const leave = storage.subscribe((events) => {
        for (const { type, object } of events) seen.push(`${type} ${object.revision === storage.revision()}`);
      });
      fixture.put(pod('a'), '1');
      fixture.remove(pod('a'));
      leave();
      fixture.put(pod('b'), '1');
      expect(seen).toEqual(['ADDED true', 'DELETED true']);
    });

    it('that throw are reported, and affect neither the change nor the other subscribers', () => {
      const reports: string[] = [];
      fixture = open({ ...silentLogger, error: (_fields, message) => reports.push(message) });
      const seen: string[] = [];
      fixture.storage.subscribe(() => {
        throw new Error('broken');
      });
      fixture.storage.subscribe((events) => seen.push(...events.map(({ type }) => type)));
      fixture.put(pod('a'), '1');
      expect(seen).toEqual(['ADDED']);
      expect(shown(fixture.storage.get(pod('a')))).toEqual(['shop/a', '1']);
      expect(reports).toEqual(['a part of this node missed changes in a space, because it failed: broken']);
    });

    it('that make changes do not affect the order that the others see', () => {
      const revisions: number[] = [];
      storage.subscribe((events) => {
        if (events[0]!.object.key.name === 'a') fixture.put(pod('b'), 'from the listener');
      });
      storage.subscribe((events) => revisions.push(...events.map(({ object }) => object.revision)));
      const start = storage.revision();
      fixture.put(pod('a'), '1');
      expect(revisions).toEqual([start + 1, start + 2]);
    });

    it('may unsubscribe while they are called', () => {
      const seen: string[] = [];
      storage.subscribe(() => leave());
      const leave = storage.subscribe(() => seen.push('second'));
      fixture.put(pod('a'), '1');
      expect(seen).toEqual([]);
    });
  });

  it('lists at each revision of its events the same objects as it listed then', () => {
    const change = fc.record({
      name: fc.constantFrom('a', 'b', 'c'),
      other: fc.boolean(),
      body: fc.option(fc.string()),
    });
    const options = fc.record(
      {
        namespace: fc.constantFrom('shop', 'zoo'),
        after: fc.record({ namespace: fc.constantFrom('shop', 'zoo'), name: fc.constantFrom('a', 'b') }),
        limit: fc.nat(3),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), options, (changes, selection) => {
        const fresh = open();
        const lists = new Map<number, StoredObject[]>();
        const note = () => lists.set(fresh.storage.revision(), fresh.storage.scan(pods, selection).map(plain));
        note();
        for (const { name, other, body } of changes) {
          const key = { ...(other ? deployments : pods), namespace: body?.length === 1 ? 'zoo' : 'shop', name };
          if (body === null) fresh.remove(key);
          else fresh.put(key, body);
          note();
        }
        for (const [revision, list] of lists) expect(listAt(fresh.storage, revision, selection)).toEqual(list);
      }),
    );
  });
});

function listAt(
  storage: SpaceStorage,
  revision: number,
  { limit = Number.POSITIVE_INFINITY, ...options }: ScanOptions = {},
) {
  using snapshot = new Snapshot(storage, pods, revision);
  const found: StoredObject[] = [];
  snapshot.visit({ ...options, limit }, (object) => found.length < limit && found.push(object) < limit);
  return found.map(plain);
}

/** A storage may read the key of an object later. */
function plain({ key, revision, body }: StoredObject): StoredObject {
  return { key, revision, body };
}

describe('EmbeddedStorage', () => {
  let store: MemoryStore;
  let storage: EmbeddedStorage;

  beforeEach(() => {
    store = new MemoryStore({ manualFlush: true });
    storage = embedded(store);
  });

  it('publishes the changes of one write together, each with its own revision', () => {
    const commits: number[][] = [];
    storage.subscribe((events) => commits.push(events.map(({ object }) => object.revision)));
    storage.write((writer) => {
      writer.put(pod('a'), text('1'));
      expect(shown(writer.get(pod('a')))).toEqual(['shop/a', '1']);
      writer.put(pod('b'), text('1'));
      expect(writer.remove(pod('b'))!.revision).toBe(2);
      expect(writer.remove(pod('b'))).toBeUndefined();
    });
    expect(commits).toEqual([[1, 2, 3]]);
  });

  it('publishes nothing and uses no revision when a write throws', () => {
    const events: unknown[] = [];
    storage.subscribe((some) => events.push(...some));
    expect(() =>
      storage.write((writer) => {
        writer.put(pod('a'), text('1'));
        throw new Error('refused');
      }),
    ).toThrow('refused');
    expect(events).toEqual([]);
    expect(storage.revision()).toBe(0);
    expect(storage.write((writer) => writer.put(pod('a'), text('1'))).revision).toBe(1);
  });

  it('returns bytes that stay the same when the caller changes its own', () => {
    const body = Buffer.from('1');
    storage.write((writer) => writer.put(pod('a'), body));
    body.fill('x');
    expect(shown(storage.get(pod('a')))).toEqual(['shop/a', '1']);
    expect(asText(eventsOf(storage, 0)[0]!.object.body)).toBe('1');
  });

  describe('within a transaction of the caller', () => {
    it('changes several spaces and the caller’s own rows together, and publishes after the commit', () => {
      const other = embedded(store, { name: 'other' });
      const seen: string[] = [];
      storage.subscribe(() => seen.push(`retail ${other.get(pod('b')) !== undefined}`));
      other.subscribe(() => seen.push('other'));
      store.write((t) => {
        storage.writeIn(t, (writer) => writer.put(pod('a'), text('1')));
        other.writeIn(t, (writer) => writer.put(pod('b'), text('1')));
        storage.writeIn(t, (writer) => writer.put(pod('c'), text('1')));
        t.put(text('own'), text('row'));
        expect([seen, storage.revision(), other.revision()]).toEqual([[], 0, 0]);
      });
      expect(seen).toEqual(['retail true', 'other']);
      expect([storage.revision(), other.revision()]).toEqual([2, 1]);
    });

    it('undoes and publishes nothing if the transaction fails later', () => {
      expect(() =>
        store.write((t) => {
          storage.writeIn(t, (writer) => writer.put(pod('a'), text('1')));
          throw new Error('later');
        }),
      ).toThrow('later');
      expect([storage.get(pod('a')), storage.eventsSince(0), storage.revision()]).toEqual([undefined, [], 0]);
    });

    it('stays consistent when the caller continues after a failed part', () => {
      store.write((t) => {
        expect(() =>
          storage.writeIn(t, (writer) => {
            writer.put(pod('a'), text('1'));
            throw new Error('half way');
          }),
        ).toThrow('half way');
        storage.writeIn(t, (writer) => writer.put(pod('b'), text('1')));
      });
      expect(eventsOf(storage, 0).map(({ object }) => [object.key.name, object.revision])).toEqual([
        ['a', 1],
        ['b', 2],
      ]);
    });
  });

  describe('the write hook', () => {
    it('sees each change inside its transaction, and its own writes commit with the change', () => {
      const hooked = embedded(store, {
        name: 'hooked',
        hook: (t, { type, object }) => t.put(text(`dirty/${object.key.name}`), text(type)),
      });
      hooked.write((writer) => writer.put(pod('a'), text('1')));
      expect(() =>
        hooked.write((writer) => {
          writer.put(pod('b'), text('1'));
          throw new Error('no');
        }),
      ).toThrow('no');
      const dirty = store.read((reader) => ['a', 'b'].map((name) => reader.get(text(`dirty/${name}`))));
      expect(dirty.map((value) => value && asText(value))).toEqual(['ADDED', undefined]);
    });

    it('refuses a change by throwing', () => {
      const hooked = embedded(store, {
        name: 'hooked',
        hook: () => {
          throw new Error('not now');
        },
      });
      expect(() => hooked.write((writer) => writer.put(pod('a'), text('1')))).toThrow('not now');
      expect(hooked.get(pod('a'))).toBeUndefined();
    });
  });

  describe('after a restart', () => {
    it('continues where it was closed, and resumes watches from exactly there', () => {
      storage.write((writer) => writer.put(pod('a'), text('1')));
      storage.write((writer) => writer.put(pod('b'), text('1')));
      storage.close();
      const again = embedded(store);
      expect(again.revision()).toBe(2);
      expect(again.scan(pods).map(shown)).toEqual(storage.scan(pods).map(shown));
      expect([again.eventsSince(2), again.eventsSince(1)]).toEqual([[], 'expired']);
      expect(again.write((writer) => writer.put(pod('c'), text('1'))).revision).toBe(3);
    });

    it('never uses a revision again, even when a crash removed the newest writes', async () => {
      store.completeFlush();
      for (let i = 0; i < 49_999; i++) storage.write((writer) => writer.put(pod('a'), text(`${i}`)));
      store.crash();
      const again = embedded(store);
      expect(again.get(pod('a'))).toBeUndefined();
      expect(again.write((writer) => writer.put(pod('a'), text('1'))).revision).toBeGreaterThan(49_999);
    });
  });

  it('keeps spaces of one store apart', () => {
    const other = embedded(store, { name: 'other' });
    storage.write((writer) => writer.put(pod('a'), text('1')));
    expect([other.scan(pods), other.resources(), other.revision()]).toEqual([[], [], 0]);
  });

  it('refuses writes when it is read-only, and requires that the space exists', () => {
    const readOnly = embedded(store, { readOnly: true });
    expect(() => readOnly.write((writer) => writer.put(pod('a'), text('1')))).toThrow('the space retail is read-only');
    expect(() => embedded(store, { name: 'none', readOnly: true })).toThrow('the store has no space none');
  });

  it('refuses names with a NUL, which could be read as another object', () => {
    expect(() => storage.write((writer) => writer.put(pod('a\0b'), text('1')))).toThrow('contains a NUL');
  });

  it('reports when it is durable', async () => {
    storage.write((writer) => writer.put(pod('a'), text('1')));
    const flushed = storage.flushed();
    store.completeFlush();
    await flushed;
    store.crash();
    expect(shown(storage.get(pod('a')))).toEqual(['shop/a', '1']);
  });
});

describe('ViewStorage', () => {
  const clock = new VirtualClock(1_000_000);
  const empty = { list: () => [], get: () => undefined };

  it('begins with the time of the start, so that a later start has a higher revision', () => {
    expect(new ViewStorage(empty, clock, silentLogger).revision()).toBe(1_000_000);
    clock.advance(5);
    expect(new ViewStorage(empty, clock, silentLogger).revision()).toBe(1_000_005);
  });

  it('gives objects that did not change since the start the revision of the start', () => {
    const objects = [{ key: pod('a'), body: text('1') }];
    const view = new ViewStorage({ list: () => objects, get: () => objects[0]!.body }, clock, silentLogger);
    const start = view.revision();
    view.changed(pod('b'), text('gone'), undefined);
    expect([view.scan(pods)[0]!.revision, view.get(pod('a'))!.revision, view.revision()]).toEqual([
      start,
      start,
      start + 1,
    ]);
  });

  it('treats equal bodies as no change', () => {
    const view = new ViewStorage(empty, clock, silentLogger);
    const start = view.revision();
    view.changed(pod('a'), text('1'), text('1'));
    view.changed(pod('a'), undefined, undefined);
    expect(view.revision()).toBe(start);
  });

  it('refuses writes', () => {
    expect(() => new ViewStorage(empty, clock, silentLogger).write()).toThrow('only shows objects of another space');
  });
});

function embedded(store: Store, options: Partial<EmbeddedStorageOptions> = {}): EmbeddedStorage {
  return new EmbeddedStorage({ store, name: 'retail', logger: silentLogger, ...options });
}

function pod(name: string): ObjectKey {
  return { ...pods, namespace: 'shop', name };
}

function stored(name: string, revision: number, body: string): StoredObject {
  return { key: pod(name), revision, body: text(body) };
}

function shown(object: StoredObject | undefined): string[] | undefined {
  return object && [`${object.key.namespace}/${object.key.name}`, asText(object.body)];
}

function eventsOf(storage: SpaceStorage, since: number): StorageEvent[] {
  const events = storage.eventsSince(since);
  if (events === 'expired') throw new Error(`events since ${since} are expired`);
  return events;
}
