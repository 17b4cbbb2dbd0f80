import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import type { ClusterEvent } from '../../../../../edge-agent/cluster/cluster.ts';
import { ResourceWatch, type WatchPorts } from '../../../../../edge-agent/cluster/kubernetes/resource-watch.ts';

const configMaps = { group: '', resource: 'configmaps' };
const served = { ...configMaps, kind: 'ConfigMap', versions: ['v1'], namespaced: true };
const item = (name: string, resourceVersion: string, uid = `uid-${name}`) => ({
  metadata: { name, namespace: 'shop', uid, resourceVersion },
});
const change = (type: string, name: string, resourceVersion: string, uid?: string) => ({
  type,
  object: { apiVersion: 'v1', kind: 'ConfigMap', ...item(name, resourceVersion, uid) },
});

/** A server of one resource with scripted pages and watches. */
class Served {
  readonly clock = new VirtualClock();
  readonly asked: string[] = [];
  readonly accepted: (string | undefined)[] = [];
  readonly seen: string[] = [];
  readonly kinds = new Set<string>();
  trouble: (error: BanyanError | undefined) => void = () => {};
  readonly #pages: unknown[];
  #watch: PassThrough | undefined;
  /** The present version, for a request without another one. */
  version = '100';
  /** The result of each requested watch. */
  watched: (watch: PassThrough) => BanyanError | undefined = () => undefined;

  constructor(...pages: unknown[]) {
    this.#pages = pages;
  }

  begin(options: Pick<WatchPorts, 'metadataOnly'> = {}): ResourceWatch {
    const client = {
      json: async ({ query = {}, accept }: { query?: Readonly<Record<string, string>>; accept?: string }) => {
        this.accepted.push(accept);
        if (query.limit === '1') {
          this.asked.push('version');
          return { metadata: { resourceVersion: this.version } };
        }
        this.asked.push(`list ${query.continue ?? ''}`.trim());
        // The last one stays for good.
        const page = this.#pages.length > 1 ? this.#pages.shift() : this.#pages[0];
        if (page instanceof Error) throw page;
        return page;
      },
      stream: async ({ query = {}, accept }: { query?: Readonly<Record<string, string>>; accept?: string }) => {
        this.accepted.push(accept);
        this.asked.push(`watch from ${query.resourceVersion}`);
        // A caller that asks without a pause would ask for ever, on a clock that does not move.
        if (this.asked.length > 500) throw new Error('too much is asked');
        const watch = Object.assign(new PassThrough(), { setTimeout: () => {} });
        const refusal = this.watched(watch);
        if (refusal) throw refusal;
        this.#watch = watch;
        return watch;
      },
    } as unknown as WatchPorts['client'];
    const watch = new ResourceWatch(
      {
        ...options,
        client,
        clock: this.clock,
        random: new SeededRandom(1),
        logger: silentLogger,
        resourceOf: async () => served,
      },
      configMaps,
    );
    watch.join({
      on: ({ type, key, object }) => {
        this.kinds.add(`${object.apiVersion} ${object.kind}`);
        this.seen.push(`${type} ${key.name} ${object.metadata.uid}`);
      },
      synced: () => void this.seen.push('synced'),
      trouble: (error) => this.trouble(error),
      wentBack: () => void this.seen.push('went back'),
    });
    return watch;
  }

  async send(...events: object[]): Promise<void> {
    await this.settle();
    for (const event of events) this.#watch!.write(`${JSON.stringify(event)}\n`);
    await this.settle();
  }

  async end(): Promise<void> {
    this.#watch!.end();
    await this.settle();
  }

  /** As when the connection is gone. */
  async cut(): Promise<void> {
    this.#watch!.destroy(new Error('aborted'));
    await this.settle();
  }

  /** The number of lists and watches requested meanwhile. */
  async within(ms: number): Promise<{ lists: number; watches: number }> {
    const before = this.asked.length;
    for (let passed = 0; passed < ms; passed += 100) {
      await this.settle(3);
      this.clock.advance(100);
    }
    const asked = this.asked.slice(before);
    const lists = asked.filter((one) => one.startsWith('list')).length;
    return { lists, watches: asked.filter((one) => one.startsWith('watch')).length };
  }

  async settle(turns = 20): Promise<void> {
    for (let i = 0; i < turns; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      this.clock.advance(0);
    }
  }
}

test('a list comes in pages, then changes from its version on', async () => {
  const server = new Served(
    { metadata: { resourceVersion: '10', continue: 'more' }, items: [item('a', '1')] },
    { metadata: { resourceVersion: '10' }, items: [item('b', '2')] },
  );
  const watch = server.begin();
  await server.send(change('MODIFIED', 'a', '11'), change('DELETED', 'b', '12'), change('ADDED', 'c', '13'));
  expect(server.asked).toEqual(['list', 'list more', 'watch from 10']);
  expect(server.seen).toEqual([
    'ADDED a uid-a',
    'ADDED b uid-b',
    'synced',
    'MODIFIED a uid-a',
    'DELETED b uid-b',
    'ADDED c uid-c',
  ]);
  watch.stop();
});

test('a watch that the server ends continues from the last received version, a bookmark included', async () => {
  const server = new Served({ metadata: { resourceVersion: '10' }, items: [] });
  const watch = server.begin();
  await server.send(change('BOOKMARK', '', '40'));
  server.clock.advance(5_000);
  await server.end();
  expect(server.asked).toEqual(['list', 'watch from 10', 'watch from 40']);
  expect(server.seen).toEqual(['synced']);
  watch.stop();
});

test('after an expired version the watch reports new, changed and removed objects, and nothing twice', async () => {
  const server = new Served(
    {
      metadata: { resourceVersion: '10' },
      items: [item('same', '1'), item('other', '2'), item('gone', '3'), item('anew', '4')],
    },
    {
      metadata: { resourceVersion: '50' },
      items: [item('same', '1'), item('other', '20'), item('anew', '21', 'uid-2'), item('new', '22')],
    },
  );
  const watch = server.begin();
  await server.settle();
  server.seen.length = 0;
  await server.send({ type: 'ERROR', object: { kind: 'Status', code: 410, message: 'too old' } });
  expect(server.asked).toEqual(['list', 'watch from 10', 'list', 'watch from 50']);
  expect(server.seen).toEqual([
    'MODIFIED other uid-other',
    'DELETED anew uid-anew',
    'ADDED anew uid-2',
    'ADDED new uid-new',
    'DELETED gone uid-gone',
    'synced',
  ]);
  watch.stop();
});

test('a server that refuses is asked again after a while, and nothing is reported about existing objects', async () => {
  const forbidden = new BanyanError('Forbidden', 'may not list');
  const server = new Served(forbidden, forbidden, { metadata: { resourceVersion: '5' }, items: [item('a', '1')] });
  const watch = server.begin();
  await server.settle();
  expect([server.asked.length, server.seen]).toEqual([1, []]);
  for (let i = 0; i < 2; i++) {
    server.clock.advance(2_000);
    await server.settle();
  }
  expect(server.seen).toEqual(['ADDED a uid-a', 'synced']);
  watch.stop();
});

test('nothing is reported after the stop', async () => {
  const server = new Served({ metadata: { resourceVersion: '10' }, items: [] });
  const watch = server.begin();
  await server.settle();
  watch.stop();
  await server.settle();
  expect(server.seen).toEqual(['synced']);
  expect(server.asked).toEqual(['list', 'watch from 10']);
});

test('a watch of metadata asks for nothing else, and objects still have their own kind', async () => {
  const server = new Served({ metadata: { resourceVersion: '10' }, items: [item('a', '1')] });
  const watch = server.begin({ metadataOnly: true });
  const bare = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', ...item('a', '11') };
  await server.send({ type: 'MODIFIED', object: bare });
  expect(server.accepted).toEqual([
    expect.stringContaining('as=PartialObjectMetadataList;'),
    expect.stringContaining('as=PartialObjectMetadata;'),
  ]);
  expect(server.seen).toEqual(['ADDED a uid-a', 'synced', 'MODIFIED a uid-a']);
  expect([...server.kinds]).toEqual(['v1 ConfigMap']);
  watch.stop();
});

test('the reason for a failing watch is reported, and its end', async () => {
  const reported: (string | undefined)[] = [];
  const server = new Served(new BanyanError('Forbidden', 'may not list'), {
    metadata: { resourceVersion: '5' },
    items: [],
  });
  server.trouble = (error) => void reported.push(error?.code);
  const watch = server.begin();
  await server.settle();
  expect(reported).toEqual(['Forbidden']);
  server.clock.advance(2_000);
  await server.settle();
  expect(reported).toEqual(['Forbidden', undefined]);
  watch.stop();
});

test('an object that is nested too deep is skipped, and the others of its resource are reported', async () => {
  const deep: unknown = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`);
  const served = new Served({
    items: [{ ...item('a', '1'), status: deep }, item('b', '2')],
    metadata: { resourceVersion: '2' },
  });
  const watch = served.begin();
  const event = change('MODIFIED', 'b', '3');
  await served.send({ ...event, object: { ...event.object, status: deep } }, change('ADDED', 'c', '4'));
  expect(served.seen).toEqual(['ADDED b uid-b', 'synced', 'ADDED c uid-c']);
  await served.send({ ...event, type: 'DELETED', object: { ...event.object, status: deep } });
  expect(served.seen.at(-1)).toBe('DELETED b uid-b');
  watch.stop();
});

describe('of several listeners', () => {
  const listener = () => {
    const seen: string[] = [];
    return {
      seen,
      on: ({ type, key }: ClusterEvent) => void seen.push(`${type} ${key.name}`),
      synced: (there: ReadonlySet<string>) => void seen.push(`synced ${there.size}`),
      trouble: (error: BanyanError | undefined) => void seen.push(error ? `trouble ${error.code}` : 'well'),
    };
  };

  test('those that begin together share one list', async () => {
    const server = new Served({ metadata: { resourceVersion: '10' }, items: [item('a', '1')] });
    const watch = server.begin();
    const second = listener();
    watch.join(second);
    await server.send(change('MODIFIED', 'a', '11'));
    expect(second.seen).toEqual(['ADDED a', 'synced 1', 'MODIFIED a']);
    expect(server.asked).toEqual(['list', 'watch from 10']);
    watch.stop();
  });

  test('a later one receives everything by a list, and the others only changes', async () => {
    const server = new Served(
      { metadata: { resourceVersion: '10' }, items: [item('a', '1'), item('b', '1')] },
      { metadata: { resourceVersion: '20' }, items: [item('a', '1'), item('c', '15')] },
    );
    const watch = server.begin();
    await server.settle();
    const second = listener();
    watch.join(second);
    await server.send(change('MODIFIED', 'a', '21'));
    expect(server.asked).toEqual(['list', 'watch from 10', 'list', 'watch from 20']);
    expect(second.seen).toEqual(['ADDED a', 'ADDED c', 'synced 2', 'MODIFIED a']);
    expect(server.seen).toEqual([
      'ADDED a uid-a',
      'ADDED b uid-b',
      'synced',
      'ADDED c uid-c',
      'DELETED b uid-b',
      'synced',
      'MODIFIED a uid-a',
    ]);
    watch.stop();
  });

  test('one that has left receives nothing, and the watch continues for the others', async () => {
    const server = new Served({ metadata: { resourceVersion: '10' }, items: [item('a', '1')] });
    const watch = server.begin();
    const second = listener();
    const leave = watch.join(second);
    await server.settle();
    leave();
    await server.send(change('MODIFIED', 'a', '11'));
    expect(second.seen).toEqual(['ADDED a', 'synced 1']);
    expect(server.seen.at(-1)).toBe('MODIFIED a uid-a');
    expect(watch.isUsed).toBe(true);
    watch.stop();
  });

  test('one that comes while the resource is refused receives the reason, and does not make requests more frequent', async () => {
    const server = new Served(...Array.from({ length: 50 }, () => new BanyanError('Forbidden', 'may not list')));
    const watch = server.begin();
    await server.settle();
    const asked = server.asked.length;
    const second = listener();
    watch.join(second);
    await server.settle();
    expect(second.seen[0]).toBe('trouble Forbidden');
    expect(server.asked.length).toBeLessThanOrEqual(asked + 1);
    watch.stop();
  });
});
describe('a failing watch is retried less and less often', () => {
  const empty = { metadata: { resourceVersion: '10' }, items: [] };
  const tooMany = new BanyanError('TooManyRequests', 'not now', { retryAfterSeconds: 30 });

  test('a resource that may be listed and not watched: its lists continue, slowly', async () => {
    const server = new Served(empty);
    const reported: (string | undefined)[] = [];
    server.trouble = (error) => void reported.push(error?.code);
    server.watched = () => new BanyanError('Forbidden', 'may not watch');
    const watch = server.begin();
    const { lists } = await server.within(60_000);
    expect(lists).toBeGreaterThan(3);
    expect(lists).toBeLessThan(20);
    expect(new Set(reported)).toEqual(new Set(['Forbidden']));
    watch.stop();
  });

  test('a server that asks to wait is asked after that time, without a list', async () => {
    const server = new Served(empty);
    server.watched = () => tooMany;
    const watch = server.begin();
    expect(await server.within(29_900)).toEqual({ lists: 1, watches: 1 });
    expect(await server.within(60_000)).toEqual({ lists: 0, watches: 2 });
    watch.stop();
  });

  test('a watch that is cut at once is resumed from its version', async () => {
    const server = new Served(empty);
    server.watched = (watch) => void setImmediate(() => watch.destroy(new Error('aborted')));
    const watch = server.begin();
    const { lists, watches } = await server.within(60_000);
    expect(lists).toBe(1);
    expect(watches).toBeGreaterThan(3);
    expect(watches).toBeLessThan(20);
    watch.stop();
  });

  test('a watch that ends at once, in order', async () => {
    const server = new Served(empty);
    server.watched = (watch) => void watch.end();
    const watch = server.begin();
    const { lists, watches } = await server.within(60_000);
    expect(lists).toBe(1);
    expect(watches).toBeLessThan(20);
    watch.stop();
  });

  test('a version that is given, and is too old for the watch each time', async () => {
    const server = new Served(empty);
    server.watched = () => new BanyanError('Expired', 'too old');
    const watch = server.begin();
    const { lists } = await server.within(60_000);
    expect(lists).toBeGreaterThan(3);
    expect(lists).toBeLessThan(20);
    watch.stop();
  });

  test('a watch that lasted some seconds resets the delay of earlier failures', async () => {
    const server = new Served(empty);
    server.watched = () => tooMany;
    const watch = server.begin();
    await server.within(120_000);
    server.watched = () => undefined;
    await server.within(60_000);
    await server.cut();
    const { lists, watches } = await server.within(600);
    expect([lists, watches]).toEqual([0, 1]);
    watch.stop();
  });
});

test('a broken connection costs no list: the watch continues from the last received version', async () => {
  const server = new Served({ metadata: { resourceVersion: '10' }, items: [item('a', '1')] });
  const watch = server.begin();
  await server.send(change('MODIFIED', 'a', '11'));
  await server.cut();
  server.clock.advance(500);
  await server.settle();
  expect(server.asked).toEqual(['list', 'watch from 10', 'version', 'watch from 11']);
  watch.stop();
});

test('a server that was restored while a connection broke is asked for a list, even if it has refused nothing', async () => {
  const server = new Served({ metadata: { resourceVersion: '10' }, items: [item('a', '1')] });
  const watch = server.begin();
  await server.send(change('MODIFIED', 'a', '50'));
  server.version = '12';
  await server.cut();
  server.clock.advance(500);
  await server.settle();
  expect(server.asked).toEqual(['list', 'watch from 10', 'version', 'list', 'watch from 10']);
  expect(server.seen).toEqual([
    'ADDED a uid-a',
    'synced',
    'MODIFIED a uid-a',
    'MODIFIED a uid-a',
    'went back',
    'synced',
  ]);
  watch.stop();
});

/** As with `--bump-revision` and `--mark-compacted`: versions continue, and the objects are those of the backup. */
describe('a restored server, which continues to count from its highest version', () => {
  const expired = { type: 'ERROR', object: { kind: 'Status', code: 410, message: 'too old' } };
  const restoredTo = async (...items: object[]) => {
    const first = [item('a', '1'), item('b', '2'), item('c', '3')];
    const server = new Served(
      { metadata: { resourceVersion: '10' }, items: first },
      { metadata: { resourceVersion: '1000' }, items },
    );
    const watch = server.begin();
    await server.send(change('DELETED', 'b', '11'), change('MODIFIED', 'c', '12'));
    await server.send(expired);
    watch.stop();
    return server.seen.filter((one) => one === 'went back').length;
  };

  test('is detected by a removed object', async () => {
    expect(await restoredTo(item('a', '1'), item('b', '2'), item('c', '12'))).toBe(1);
  });

  test('is detected by an object that was changed, or made anew', async () => {
    expect(await restoredTo(item('a', '1'), item('c', '3'))).toBe(1);
    expect(await restoredTo(item('a', '1'), item('c', '3', 'uid-before'))).toBe(1);
  });

  test('is not assumed for a server with objects that were added, changed and removed meanwhile', async () => {
    expect(await restoredTo(item('b', '13', 'uid-2'), item('c', '14'), item('d', '1000'))).toBe(0);
    expect(await restoredTo()).toBe(0);
  });

  test('is reported once, even if the list fails in between', async () => {
    const failed = new BanyanError('Unavailable', "can't be reached");
    const back = { metadata: { resourceVersion: '1000', continue: 'more' }, items: [item('a', '1')] };
    const server = new Served({ metadata: { resourceVersion: '10' }, items: [] }, back, failed, back, {
      metadata: { resourceVersion: '1000' },
      items: [],
    });
    const watch = server.begin();
    await server.send(expired);
    await server.settle();
    server.clock.advance(2_000);
    await server.settle();
    expect(server.seen).toEqual(['synced', 'ADDED a uid-a', 'went back', 'synced']);
    watch.stop();
  });

  test('is not reported to a listener that is new', async () => {
    const server = new Served({ metadata: { resourceVersion: '10' }, items: [item('a', '1')] });
    const watch = server.begin();
    await server.settle();
    const reported: string[] = [];
    watch.join({ on: () => {}, synced: () => {}, wentBack: () => void reported.push('went back') });
    await server.settle();
    expect(reported).toEqual([]);
    watch.stop();
  });
});

test('a listener that joined during the list hides no later broken connection: the server may have been restored', async () => {
  const server = new Served({ metadata: { resourceVersion: '10' }, items: [item('a', '1')] });
  const watch = server.begin();
  // The list has begun by then, and its answer has not arrived.
  await Promise.resolve();
  await Promise.resolve();
  expect(server.asked.join()).toBe('list');
  watch.join({ on: () => {}, synced: () => {} });
  await server.send(change('MODIFIED', 'a', '50'));
  server.version = '12';
  await server.cut();
  server.clock.advance(500);
  await server.settle();
  expect(server.asked).toEqual(['list', 'list', 'watch from 10', 'version', 'list', 'watch from 10']);
  expect(server.seen).toContain('went back');
  watch.stop();
});

test('a server that was away may have been restored: it is asked for a list', async () => {
  const server = new Served({ metadata: { resourceVersion: '10' }, items: [] });
  const watch = server.begin();
  await server.send(change('ADDED', 'a', '50'));
  server.watched = () => new BanyanError('Unavailable', "can't be reached");
  await server.cut();
  server.clock.advance(500);
  await server.settle();
  server.watched = () => undefined;
  server.clock.advance(1_000);
  await server.settle();
  expect(server.asked).toEqual(['list', 'watch from 10', 'version', 'watch from 50', 'list', 'watch from 10']);
  expect(server.seen).toEqual(['synced', 'ADDED a uid-a', 'went back', 'DELETED a uid-a', 'synced']);
  watch.stop();
});

test('a server that was away and continued is not reported as restored', async () => {
  const lists = [{ metadata: { resourceVersion: '10' } }, { metadata: { resourceVersion: '51' } }];
  const server = new Served(...lists, { metadata: { resourceVersion: '51' } });
  const watch = server.begin();
  await server.send(change('ADDED', 'a', '50'));
  server.watched = () => new BanyanError('Unavailable', "can't be reached");
  await server.cut();
  server.clock.advance(500);
  await server.settle();
  for (let i = 0; i < 2; i++) {
    server.clock.advance(2_000);
    await server.settle();
  }
  expect(server.asked.filter((one) => one === 'list').length).toBeGreaterThan(2);
  expect(server.seen).not.toContain('went back');
  watch.stop();
});

test('a server whose lists have no version is not treated as restored', async () => {
  const server = new Served({ metadata: {}, items: [item('a', '7')] }, { metadata: {}, items: [item('a', '50')] });
  const watch = server.begin();
  await server.send(change('MODIFIED', 'a', '50'));
  server.version = '';
  await server.cut();
  await server.within(3_000);
  await server.send({ type: 'ERROR', object: { kind: 'Status', code: 410, message: 'too old' } });
  await server.within(3_000);
  expect(server.asked).toEqual(['list', 'watch from ', 'version', 'watch from 50', 'list', 'watch from ']);
  expect(server.seen).not.toContain('went back');
  watch.stop();
});
