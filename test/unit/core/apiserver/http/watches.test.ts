import { beforeEach, describe, expect, it } from 'vitest';
import { aheadBytesMax, watchBytesMax } from '../../../../../core/apiserver/http/outgoing.ts';
import type { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { HandlerBench } from './handler-bench.ts';
import { refusalOf } from './handler-errors.ts';

const path = '/api/v1/namespaces/shop/configmaps';
const watchPath = `${path}?watch=true`;
const tableForm = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const minuteMs = 60_000;

let store: MemoryStore;
let api: HandlerBench;
beforeEach(() => {
  store = new MemoryStore();
  api = new HandlerBench({ store });
});

function configMap(name: string, labels?: Record<string, string>, namespace = 'shop'): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...(labels ? { labels } : {}) } };
}

/** The object as clients see it: a ConfigMap has no generation. */
const shown = (object: KubeObject): KubeObject => {
  delete object.metadata.generation;
  return object;
};
const add = (name: string, labels?: Record<string, string>) => shown(api.space.create(configMap(name, labels)));
const change = (name: string, labels: Record<string, string>) => shown(api.space.update(configMap(name, labels)));
const remove = (name: string) => api.space.delete(api.space.keyOf(configMap(name)));
const revision = () => String(api.space.storage.revision());

describe('a watch', () => {
  it('without a revision begins with the present objects, then sends changes', async () => {
    add('a');
    const watch = await api.watch(watchPath);
    expect(watch.received()).toEqual(['ADDED a']);
    const made = add('b');
    expect(watch.take()).toEqual([{ type: 'ADDED', object: made }]);
    const changed = change('b', { tier: 'web' });
    expect(watch.take()).toEqual([{ type: 'MODIFIED', object: changed }]);
    remove('b');
    const metadata = { ...changed.metadata, resourceVersion: revision() };
    expect(watch.take()).toEqual([{ type: 'DELETED', object: { ...changed, metadata } }]);
  });

  it('from a revision sends the changes since then, and nothing before', async () => {
    add('a');
    const since = revision();
    change('a', { tier: 'web' });
    remove('a');
    add('b');
    const watch = await api.watch(`${watchPath}&resourceVersion=${since}`);
    expect(watch.received()).toEqual(['MODIFIED a', 'DELETED a', 'ADDED b']);
    add('c');
    expect(watch.received()).toEqual(['ADDED c']);
  });

  it('ends when its space is removed, and says so', async () => {
    const watch = await api.watch(watchPath);
    (api.space.storage as EmbeddedStorage).remove();
    expect(watch.take()).toMatchObject([
      { type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'the space "retail" was removed' } },
    ]);
    add('a');
    expect(watch.take()).toEqual([]);
  });

  it('sends nothing of other kinds and other namespaces', async () => {
    const watch = await api.watch(watchPath);
    const all = await api.watch('/api/v1/configmaps?watch=1');
    api.space.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace: 'shop' } });
    api.space.create(configMap('a', undefined, 'bank'));
    expect(watch.received()).toEqual([]);
    expect(all.received()).toEqual(['ADDED a']);
  });

  it('with a selector sends an object that enters as added and one that leaves as deleted', async () => {
    add('a', { tier: 'web' });
    add('b');
    const watch = await api.watch(`${watchPath}&labelSelector=tier%3Dweb`);
    expect(watch.received()).toEqual(['ADDED a']);
    change('b', { tier: 'db' });
    change('b', { tier: 'web' });
    change('b', { tier: 'web', more: 'yes' });
    change('a', { tier: 'db' });
    remove('a');
    remove('b');
    expect(watch.received()).toEqual(['ADDED b', 'MODIFIED b', 'DELETED a', 'DELETED b']);
  });

  it('with a selector sends a leaving object in its former state, at the revision at which it left', async () => {
    add('a', { tier: 'web' });
    const watch = await api.watch(`${watchPath}&labelSelector=tier%3Dweb&resourceVersion=${revision()}`);
    const { metadata } = change('a', { tier: 'db' });
    const [left] = watch.take();
    expect(left?.object.metadata).toMatchObject({
      labels: { tier: 'web' },
      resourceVersion: metadata.resourceVersion,
    });
  });

  it('sends the same bytes as every other watch of the same form, so an event is made once for all', async () => {
    const metadata = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    const same = await Promise.all(Array.from({ length: 20 }, () => api.watch(watchPath)));
    const selecting = await api.watch(`${watchPath}&labelSelector=tier`);
    const partial = [await api.watch(watchPath, metadata), await api.watch(watchPath, metadata)];
    const made = add('a', { tier: 'web' });
    const lines = [...same, selecting].map(({ line }) => line);
    expect(new Set(lines).size).toBe(1);
    expect(partial[0]!.line).toBe(partial[1]!.line);
    expect(partial[0]!.take()).toEqual([
      {
        type: 'ADDED',
        object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: made.metadata },
      },
    ]);
    change('a', {});
    expect(new Set(same.map(({ line }) => line)).size).toBe(1);
    expect(selecting.received()).toEqual(['ADDED a', 'DELETED a']);
    expect(same[0]!.received()).toEqual(['ADDED a', 'MODIFIED a']);
  });

  it('of one name sends no other object', async () => {
    const watch = await api.watch(`${watchPath}&fieldSelector=metadata.name%3Da`);
    add('a');
    add('b');
    expect(watch.received()).toEqual(['ADDED a']);
  });

  it('ends at its time-out, and not before', async () => {
    const watch = await api.watch(`${watchPath}&timeoutSeconds=5`);
    api.clock.advance(4_999);
    expect(watch.ended).toBe(false);
    api.clock.advance(1);
    expect(watch.ended).toBe(true);
    add('a');
    expect(watch.take()).toEqual([]);
  });

  it('ends after a day if its time-out is longer than a timer can be', async () => {
    const watch = await api.watch(`${watchPath}&timeoutSeconds=99999999999`);
    api.clock.advance(24 * 60 * minuteMs - 1);
    expect(watch.ended).toBe(false);
    api.clock.advance(1);
    expect(watch.ended).toBe(true);
  });

  it('ends after half an hour if it has no time-out', async () => {
    const watch = await api.watch(watchPath);
    api.clock.advance(30 * minuteMs - 1);
    expect(watch.ended).toBe(false);
    api.clock.advance(1);
    expect(watch.ended).toBe(true);
  });

  it('ends when its client does not read, and keeps no memory for it', async () => {
    const watch = await api.watch(watchPath);
    watch.queued = watchBytesMax;
    add('a');
    expect(watch.ended).toBe(false);
    watch.queued += 1;
    add('b');
    expect(watch).toMatchObject({ ended: true, broken: true });
    add('c');
    expect(watch.received()).toEqual(['ADDED a', 'ADDED b']);
  });
});

describe('a watch from a revision that is no longer kept', () => {
  it('is one event, 410 Expired, and the end', async () => {
    add('a');
    const since = revision();
    add('b');
    api = new HandlerBench({ store });
    const watch = await api.watch(`${watchPath}&resourceVersion=${since}`);
    expect(watch.take()).toEqual([
      {
        type: 'ERROR',
        object: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: `too old resource version: ${since} (${revision()})`,
          reason: 'Expired',
          details: {},
          code: 410,
        },
      },
    ]);
    expect(watch.ended).toBe(true);
  });

  it('is not the same as revision 0, which accepts any state', async () => {
    add('a');
    api = new HandlerBench({ store });
    const watch = await api.watch(`${watchPath}&resourceVersion=0`);
    expect(watch.received()).toEqual(['ADDED a']);
  });
});

describe('bookmarks', () => {
  it('come every minute, with the revision up to which the client has received everything', async () => {
    const watch = await api.watch(`${watchPath}&allowWatchBookmarks=true`);
    api.space.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace: 'shop' } });
    api.clock.advance(minuteMs - 1);
    expect(watch.take()).toEqual([]);
    api.clock.advance(1);
    const bookmark = {
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { resourceVersion: revision() },
      },
    };
    expect(watch.take()).toEqual([bookmark]);
    api.clock.advance(minuteMs);
    expect(watch.take()).toEqual([bookmark]);
  });

  it('do not come if the client did not ask for them, nor after the end', async () => {
    const plain = await api.watch(watchPath);
    const short = await api.watch(`${watchPath}&allowWatchBookmarks=true&timeoutSeconds=61`);
    api.clock.advance(5 * minuteMs);
    expect(plain.take()).toEqual([]);
    expect(short.received()).toEqual(['BOOKMARK']);
  });
});

describe('sendInitialEvents', () => {
  const initial = `${watchPath}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;

  it('sends the present objects, then a bookmark that marks their end, then changes', async () => {
    add('a');
    add('b');
    const watch = await api.watch(`${initial}&resourceVersion=`);
    const events = watch.take();
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK']);
    expect(events[2]?.object.metadata).toEqual({
      resourceVersion: revision(),
      annotations: { 'k8s.io/initial-events-end': 'true' },
    });
    add('c');
    expect(watch.received()).toEqual(['ADDED c']);
  });

  it('sends no bookmark to a client that wants none', async () => {
    add('a');
    const watch = await api.watch(`${initial.replace('&allowWatchBookmarks=true', '')}&resourceVersion=`);
    expect(watch.received()).toEqual(['ADDED a']);
  });

  it.each(['', '0'])('sends no present objects if it is false, from revision "%s"', async (from) => {
    add('a');
    const watch = await api.watch(`${initial.replace('Events=true', 'Events=false')}&resourceVersion=${from}`);
    expect(watch.received()).toEqual([]);
    add('b');
    expect(watch.received()).toEqual(['ADDED b']);
  });

  it('sends the bookmark even without objects, and selects', async () => {
    add('a');
    const watch = await api.watch(`${initial}&labelSelector=tier`);
    expect(watch.received()).toEqual(['BOOKMARK']);
  });

  it('sends the present objects as its client reads, each in its state at that time, and meanwhile the changes of the others', async () => {
    for (const name of ['a', 'b', 'c', 'd']) add(name);
    const watch = await api.watch(`${initial}&resourceVersion=`, undefined, aheadBytesMax + 1);
    expect(watch.received()).toEqual(['ADDED a']);
    remove('b');
    const { metadata } = change('c', { tier: 'web' });
    change('a', { tier: 'web' });
    add('ab');
    add('0');
    expect(watch.received()).toEqual(['MODIFIED a', 'ADDED 0']);
    watch.drain(aheadBytesMax + 1);
    expect(watch.received()).toEqual(['ADDED ab']);
    watch.drain(aheadBytesMax + 1);
    expect(watch.take()).toEqual([{ type: 'ADDED', object: expect.objectContaining({ metadata }) }]);
    watch.drain();
    expect(watch.received()).toEqual(['ADDED d', 'BOOKMARK']);
    remove('c');
    expect(watch.received()).toEqual(['DELETED c']);
  });

  it('sends no other bookmark before all present objects are sent, and nothing after its end', async () => {
    for (const name of ['a', 'b', 'c']) add(name);
    const watch = await api.watch(`${initial}&timeoutSeconds=90`, undefined, aheadBytesMax + 1);
    watch.drain(aheadBytesMax + 1);
    api.clock.advance(minuteMs);
    expect(watch.received()).toEqual(['ADDED a', 'ADDED b']);
    api.clock.advance(minuteMs);
    watch.drain();
    expect([watch.ended, watch.received()]).toEqual([true, []]);
    const full = await api.watch(initial, undefined, watchBytesMax + 1);
    expect([full.ended, full.received()]).toEqual([true, ['ADDED a']]);
    full.drain();
    expect(full.received()).toEqual([]);
  });

  it('begins from the present objects, however old the revision', async () => {
    add('a');
    const since = revision();
    api = new HandlerBench({ store });
    const watch = await api.watch(`${initial}&resourceVersion=${since}`);
    expect(watch.received()).toEqual(['ADDED a', 'BOOKMARK']);
  });

  it('needs resourceVersionMatch=NotOlderThan', async () => {
    const { code, message } = await refusalOf(api.watch(`${watchPath}&sendInitialEvents=true`));
    expect(code).toBe('Invalid');
    expect(message).toBe(
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    );
  });
});

describe('a watch as a table', () => {
  interface Table {
    columnDefinitions: { name: string }[];
    rows: { cells: unknown[]; object?: { kind: string; metadata: { name: string } } }[];
  }
  const tables = (watch: { take(): { type: string; object: unknown }[] }) =>
    watch.take().map(({ type, object }) => ({ type, table: object as Table }));

  it('has a row in each event, and the columns in the first', async () => {
    add('a');
    const watch = await api.watch(watchPath, tableForm);
    add('b');
    const [first, second] = tables(watch);
    expect(first?.table).toMatchObject({
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      rows: [{ cells: ['a', 0, '0s'], object: { kind: 'PartialObjectMetadata', metadata: { name: 'a' } } }],
    });
    expect(first?.table.columnDefinitions.map((column) => column.name)).toEqual(['Name', 'Data', 'Age']);
    expect(second?.table).toMatchObject({ columnDefinitions: [], rows: [{ cells: ['b', 0, '0s'] }] });
  });

  it('counts the age of a row from the time of its event', async () => {
    add('a');
    const watch = await api.watch(`${watchPath}&resourceVersion=${revision()}`, tableForm);
    api.clock.advance(3 * minuteMs);
    change('a', { tier: 'web' });
    expect(tables(watch)[0]?.table.rows[0]?.cells).toEqual(['a', 0, '3m']);
  });

  it('has bookmarks that are tables', async () => {
    const watch = await api.watch(`${watchPath}&allowWatchBookmarks=true`, tableForm);
    api.clock.advance(minuteMs);
    const [event] = tables(watch);
    expect(event?.type).toBe('BOOKMARK');
    expect(event?.table).toMatchObject({
      kind: 'Table',
      metadata: { resourceVersion: revision() },
      rows: [{ cells: [], object: { kind: 'PartialObjectMetadata', metadata: { resourceVersion: revision() } } }],
    });
  });
});

describe('a watch of metadata alone', () => {
  it('has nothing else in its events', async () => {
    const watch = await api.watch(watchPath, 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1');
    const { metadata } = shown(api.space.create({ ...configMap('a'), data: { a: 'x' } }));
    expect(watch.take()).toEqual([
      { type: 'ADDED', object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata } },
    ]);
  });
});
